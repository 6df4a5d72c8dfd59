// A part of a merge by one thread (merge path, Hanak 2023, 3.4.2).
#pragma once

#include "gpu/primitives/packed.cuh"
#include "gpu/primitives/tally.cuh"

namespace kith::gpu {

// put(j, entry) for the entries j in [first, last) of the merge of two sorted lists. The binary
// search along the diagonal finds how many of the first `first` entries come from `a`.
template <class Put>
__device__ __forceinline__ void merge_part(const Packed* a, int a_count, const Packed* b,
                                           int b_count, int first, int last, Tally& tally,
                                           Put put) {
    int i = first > b_count ? first - b_count : 0, most = first < a_count ? first : a_count;
    while (i < most) {
        const int middle = (i + most) / 2;
        tally.compared();
        if (a[middle] <= b[first - 1 - middle]) i = middle + 1;
        else most = middle;
    }
    int j = first - i;
    tally.moved(static_cast<unsigned>(last - first));
    for (int at = first; at < last; ++at) {
        bool from_a = i < a_count;
        if (from_a && j < b_count) {
            tally.compared();
            from_a = a[i] <= b[j];
        }
        put(at, from_a ? a[i++] : b[j++]);
    }
}

}  // namespace kith::gpu
