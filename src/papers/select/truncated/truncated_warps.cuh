// Truncated sorts whose k-list takes one entry after the other (Sismanis 2012, section 2: insertion
// and heap).
//
// Grid: a block of one warp per subcorpus, a slice of a row. The warp reads 128 adjacent values,
// four per lane; those below the largest entry kept go into the warp's k-list in shared memory one
// by one, as the insertion depends on the data. The lists of a row are then merged pairwise
// (truncated_lists.h).
//
// Ties: entries are packed (key, index), 8 bytes, one comparison of integers.
#pragma once

#include "gpu/primitives/block.cuh"
#include "gpu/primitives/tally.cuh"
#include "papers/select/truncated/truncated_lists.h"

namespace kith::gpu {

// Keeper: the k smallest entries so far, in `list`. worst(): no entry above it is wanted;
// insert(p), by the whole warp, for p below that; sort(): at the end, ascending and filled up with
// packed_end.
template <class Keeper>
__global__ void __launch_bounds__(32)
    truncated_warps_kernel(const float* values, std::int64_t stride, std::int64_t n, std::int64_t k,
                           bool largest, Slices slices, Packed* lists, unsigned long long* counts) {
    extern __shared__ Packed list[];
    constexpr int loads = 4;
    const auto [row, begin, end] = slices.of_block(n);
    const float* const in = values + row * stride;
    const auto size = static_cast<int>(k), lane = static_cast<int>(threadIdx.x);
    for (int j = lane; j < size; j += 32) list[j] = packed_end;
    __syncwarp();
    Tally tally;
    Keeper keeper(list, size);
    for (std::int64_t base = begin; base < end; base += 32 * loads) {
        float v[loads];
#pragma unroll
        for (int u = 0; u < loads; ++u)
            v[u] = base + 32 * u + lane < end ? in[base + 32 * u + lane] : 0.0f;
#pragma unroll
        for (int u = 0; u < loads; ++u) {
            const std::int64_t i = base + 32 * u + lane;
            const Packed mine =
                i < end ? pack(v[u], static_cast<std::uint32_t>(i), largest) : packed_end;
            if (i < end) tally.compared();
            unsigned waiting = __ballot_sync(whole_warp, mine < keeper.worst());
            while (waiting) {
                const Packed next =
                    __shfl_sync(whole_warp, mine, __ffs(static_cast<int>(waiting)) - 1);
                keeper.insert(next, tally);
                waiting &= waiting - 1;
                waiting &= __ballot_sync(whole_warp, mine < keeper.worst());
            }
        }
    }
    keeper.sort(tally);
    __syncwarp();
    Packed* const to = lists + blockIdx.x * k;
    for (int j = lane; j < size; j += 32) to[j] = list[j];
    tally.add_to(counts);
}

template <class Keeper>
void truncated_warps(const SelectJob& job) {
    constexpr std::int64_t wanted = 4096,
                           shortest = 1024;  // warps that fill a device; values worth a warp
    const Slices slices = cut_rows(job, wanted, shortest);
    const Buffer<Packed> lists = make_lists(job, slices);
    truncated_warps_kernel<Keeper>
        <<<static_cast<unsigned>(job.rows * slices.per_row), 32,
           static_cast<std::size_t>(job.k) * sizeof(Packed), job.stream>>>(
            job.f32(), job.stride, job.n, job.k, job.largest, slices, lists.get(), job.counts);
    check_launch("truncated_warps_kernel");
    join_lists(lists, slices, job);
}

}  // namespace kith::gpu
