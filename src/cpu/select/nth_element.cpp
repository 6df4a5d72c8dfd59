// Selection by introselect on a copy of the whole slice: O(count) whatever k is, then a sort of the
// k.
#include <algorithm>

#include "cpu/select/selector.h"

namespace kith::cpu {

template <class T>
void select_nth_element(const RowSlice<T>& slice, std::vector<Packed<T>>& kept) {
    kept.resize(static_cast<std::size_t>(slice.count));
    for (std::int64_t i = 0; i < slice.count; ++i)
        kept[static_cast<std::size_t>(i)] = slice.packed(i);
    if (slice.k < slice.count)
        std::nth_element(kept.begin(), kept.begin() + (slice.k - 1), kept.end());
    kept.resize(static_cast<std::size_t>(slice.k));
    if (slice.sorted) std::sort(kept.begin(), kept.end());
}

KITH_INSTANTIATE_SELECTOR(select_nth_element)

}  // namespace kith::cpu
