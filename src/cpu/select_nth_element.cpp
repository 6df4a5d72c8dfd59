// Selection by introselect on a copy of the whole run: O(count) whatever k is, then a sort of the k.
#include <algorithm>

#include "cpu/selector.h"

namespace kith::cpu {

template <class T>
void select_nth_element(const Run<T>& run, std::vector<Packed<T>>& kept) {
    kept.resize(static_cast<std::size_t>(run.count));
    for (std::int64_t i = 0; i < run.count; ++i) kept[static_cast<std::size_t>(i)] = run.packed(i);
    if (run.k < run.count) std::nth_element(kept.begin(), kept.begin() + (run.k - 1), kept.end());
    kept.resize(static_cast<std::size_t>(run.k));
    if (run.sorted) std::sort(kept.begin(), kept.end());
}

KITH_INSTANTIATE_SELECTOR(select_nth_element)

}  // namespace kith::cpu
