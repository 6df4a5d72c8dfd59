// Splitting a list by a pivot, the step that quick multi-select and the truncated quick sort share.
#pragma once

#include "gpu/primitives/sample.h"
#include "gpu/primitives/tally.cuh"
#include "gpu/select/row_result.cuh"

namespace kith::gpu {

inline constexpr int split_threads = 256, pivot_sample = 32;

struct SplitShared {
    Packed pivot;
    std::uint32_t left, right;
};

// Splits the `count` distinct entries of a list, more than pivot_sample, by the median of a sample:
// entries up to it to the front of `to`, the others to its back. Returns how many are in front:
// neither 0 nor count.
template <class Walk>
__device__ std::uint32_t split_by_pivot(const Walk& source, std::uint32_t count, std::uint32_t seed,
                                        Packed* to, SplitShared& s, Tally& tally) {
    __syncthreads();
    if (threadIdx.x < 32) {
        const Packed mine =
            source.get(sampling::sample_place(threadIdx.x, pivot_sample, count, seed));
        int rank = 0;
        for (int lane = 0; lane < 32; ++lane) rank += __shfl_sync(whole_warp, mine, lane) < mine;
        tally.compared(pivot_sample);
        if (rank == pivot_sample / 2) s.pivot = mine;
        if (threadIdx.x == 0) s.left = s.right = 0;
    }
    __syncthreads();
    const Packed pivot = s.pivot;
    source.walk([&](const Packed(&entries)[4], unsigned valid) {
        unsigned left = 0;
#pragma unroll
        for (int j = 0; j < 4; ++j)
            if (entries[j] <= pivot) left |= valid & 1u << j;
        tally.compared(static_cast<unsigned>(__popc(valid)));
        tally.moved(static_cast<unsigned>(__popc(valid)));
        append(left, entries, &s.left, [&](std::uint32_t j, Packed p) { to[j] = p; });
        append(valid & ~left, entries, &s.right,
               [&](std::uint32_t j, Packed p) { to[count - 1 - j] = p; });
    });
    __syncthreads();
    return s.left;
}

}  // namespace kith::gpu
