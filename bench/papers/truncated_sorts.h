// The truncated sorts of Sismanis, Pitsianis and Sun 2012, Table 1, serially: sorts that drop what cannot be among the
// k smallest, as plain loops for one core. A GPU's are in src/papers/select/truncated.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace kith::bench::papers {

struct SortEntry {
    float value;
    std::int32_t id;

    // By value, equal ones by id. No value is NaN.
    bool operator<(const SortEntry& other) const {
        return value < other.value || (value == other.value && id < other.id);
    }
};

// Leaves the k smallest entries, 1 <= k <= entries.size(), sorted at the beginning; the entries after them are spent.
using TruncatedSort = void (*)(std::vector<SortEntry>& entries, std::int64_t k);

struct NamedSort {
    std::string_view name, what;
    TruncatedSort sort;
};
// bubble, merge, insertion, heap, quick, radix, bitonic.
std::span<const NamedSort> truncated_sorts();

}  // namespace kith::bench::papers
