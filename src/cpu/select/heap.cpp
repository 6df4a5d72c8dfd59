// Selection by a heap of the C++ standard library: the k best so far with the worst of them on top,
// which a better value replaces in O(log k). Tang 2015, Table I, "CPU-based".
#include <algorithm>

#include "cpu/select/selector.h"

namespace kith::cpu {

template <class T>
void select_heap(const RowSlice<T>& slice, std::vector<Packed<T>>& kept) {
    kept.clear();
    for (std::int64_t i = 0; i < slice.k; ++i) kept.push_back(slice.packed(i));
    std::make_heap(kept.begin(), kept.end());
    // Values come in index order: one that ties with the k-th comes after it and is not needed.
    Key<T> worst = key_of<T>(kept.front());
    for (std::int64_t i = slice.k; i < slice.count; ++i) {
        const Key<T> key = slice.key(i);
        if (key >= worst) continue;
        std::pop_heap(kept.begin(), kept.end());
        kept.back() = pack<T>(key, i);
        std::push_heap(kept.begin(), kept.end());
        worst = key_of<T>(kept.front());
    }
    if (slice.sorted) std::sort_heap(kept.begin(), kept.end());
}

KITH_INSTANTIATE_SELECTOR(select_heap)

}  // namespace kith::cpu
