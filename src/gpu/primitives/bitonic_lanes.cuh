// Bitonic networks of groups of adjacent lanes: many small arrays at once, in the consecutive
// layout (bitonic.cuh). They are one array over the registers of a block whose networks stop at the
// stride of a group (Hanak 2023, 4.2).
//
// A group has `lanes` lanes, a power of two up to 32, lane l of it the positions l * items + i.
// Whole warps call.
#pragma once

#include "gpu/primitives/bitonic.cuh"

namespace kith::gpu::bitonic {

// Sorts each group's bitonic sequence.
template <int items>
__device__ __forceinline__ void merge_lanes(Packed (&x)[items], int lanes) {
#pragma unroll 1
    for (int stride = lanes / 2; stride > 0; stride /= 2) plain_lanes(x, stride);
    merge_thread(x);
}

// Sorts each group's lanes * items entries.
template <int items>
__device__ __forceinline__ void sort_lanes(Packed (&x)[items], int lanes) {
    sort_thread(x);
#pragma unroll 1
    for (int group = 2; group <= lanes; group *= 2) {
        reversed_lanes(x, group);
        merge_lanes(x, group / 2);
    }
}

}  // namespace kith::gpu::bitonic
