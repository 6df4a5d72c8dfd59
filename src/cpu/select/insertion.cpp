// Selection by insertion into a sorted array of the k best: O(k) per value that enters, so for
// small k (Garcia 2008's modified insertion sort, which keeps only k).
#include "cpu/select/selector.h"

namespace kith::cpu {

template <class T>
void select_insertion(const RowSlice<T>& slice, std::vector<Packed<T>>& kept) {
    kept.assign(static_cast<std::size_t>(slice.k), ~Packed<T>{0});
    Packed<T>* const best = kept.data();
    const std::int64_t last = slice.k - 1;
    // Values come in index order: one that ties with the k-th comes after it and is not needed. The
    // first k enter whatever they are: NaN's key is that of an empty place.
    for (std::int64_t i = 0; i < slice.count; ++i) {
        const Key<T> key = slice.key(i);
        if (i >= slice.k && key >= key_of<T>(best[last])) continue;
        const Packed<T> value = pack<T>(key, i);
        std::int64_t place = last;
        for (; place > 0 && best[place - 1] > value; --place) best[place] = best[place - 1];
        best[place] = value;
    }
}

KITH_INSTANTIATE_SELECTOR(select_insertion)

}  // namespace kith::cpu
