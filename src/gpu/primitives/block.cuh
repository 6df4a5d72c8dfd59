// Steps that the threads of a block take together: prefix sums, a sort in shared memory, places in a list.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace kith::gpu {

inline constexpr unsigned whole_warp = 0xffffffffu;

// Exclusive prefix of `x` over a block of `threads`; every thread must call. `total` receives the sum. warp_sums:
// threads / 32 values in shared memory.
template <int threads, class T>
__device__ __forceinline__ T block_prefix(T x, T* warp_sums, T& total) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    T sum = x;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        const T other = __shfl_up_sync(whole_warp, sum, step);
        if (lane >= step) sum += other;
    }
    __syncthreads();
    if (lane == 31) warp_sums[warp] = sum;
    __syncthreads();
    T before = 0;
    total = 0;
#pragma unroll
    for (int w = 0; w < threads / 32; ++w) {
        if (w < warp) before += warp_sums[w];
        total += warp_sums[w];
    }
    return before + sum - x;
}

// Sorts `size` entries in shared memory, a power of two, by a bitonic network. Ready for every thread on return.
template <int threads, class T>
__device__ void block_sort(T* data, int size) {
    __syncthreads();
    for (int run = 2; run <= size; run *= 2) {
        for (int step = run / 2; step > 0; step /= 2) {
            for (int t = threadIdx.x; t < size / 2; t += threads) {
                const int i = 2 * t - (t & (step - 1)), j = i + step;
                const T a = data[i], b = data[j];
                if ((b < a) == ((i & run) == 0)) {
                    data[i] = b;
                    data[j] = a;
                }
            }
            // The pairs of steps up to 32 stay within the 64 entries of a warp.
            const bool next_in_warp = step > 1 ? step <= 32 : run <= 32;
            if (next_in_warp) __syncwarp();
            else __syncthreads();
        }
    }
    __syncthreads();
}

// Appends those of a lane's four entries whose bit in `mask` is set: put(place, entry), with places behind *count
// (shared memory). The whole warp must call; one atomic operation for all of it.
template <class T, class Put>
__device__ __forceinline__ void append(unsigned mask, const T (&entries)[4], std::uint32_t* count, Put put) {
    const unsigned lower_lanes = (1u << threadIdx.x % 32) - 1;
    std::uint32_t place[4], total = 0;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
        const unsigned lanes = __ballot_sync(whole_warp, mask >> j & 1u);
        place[j] = total + __popc(lanes & lower_lanes);
        total += __popc(lanes);
    }
    if (total == 0) return;
    std::uint32_t first = 0;
    if (threadIdx.x % 32 == 0) first = atomicAdd(count, total);
    first = __shfl_sync(whole_warp, first, 0);
#pragma unroll
    for (int j = 0; j < 4; ++j)
        if (mask >> j & 1u) put(first + place[j], entries[j]);
}

}  // namespace kith::gpu
