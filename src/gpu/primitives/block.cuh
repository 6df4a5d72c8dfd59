// Steps that the threads of a block take together: prefix sums, places in a list.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace kith::gpu {

inline constexpr unsigned whole_warp = 0xffffffffu;

// `block` threads that take steps together are a whole block, or 32 of them a warp of a larger one:
// a thread's number among them, their barrier, and that which says of how many `x` is true.
template <int block>
__device__ __forceinline__ int thread_of() {
    return static_cast<int>(block == 32 ? threadIdx.x % 32 : threadIdx.x);
}
template <int block>
__device__ __forceinline__ void barrier() {
    if constexpr (block == 32) __syncwarp();
    else __syncthreads();
}
template <int block>
__device__ __forceinline__ int barrier_count(bool x) {
    if constexpr (block == 32) return __popc(__ballot_sync(whole_warp, x));
    else return __syncthreads_count(x);
}

// Exclusive prefix of `x` over a block of `threads`; every thread must call. `total` receives the
// sum. warp_sums: threads / 32 values in shared memory.
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

// Places in a list for those of a lane's `entries` entries whose bit in `mask` is set: put(place,
// j) for entry j, with places from *count (shared memory) on. The whole warp must call; one atomic
// operation for all of it.
template <int entries, class Count, class Put>
__device__ __forceinline__ void append(unsigned mask, Count* count, Put put) {
    unsigned lanes[entries];
    Count total = 0;
#pragma unroll
    for (int j = 0; j < entries; ++j) {
        lanes[j] = __ballot_sync(whole_warp, mask >> j & 1u);
        total += static_cast<Count>(__popc(lanes[j]));
    }
    if (total == 0) return;
    const int lane = threadIdx.x % 32;
    Count place = 0;
    if (lane == 0) place = atomicAdd(count, total);
    place = __shfl_sync(whole_warp, place, 0);
#pragma unroll
    for (int j = 0; j < entries; ++j) {
        if (mask >> j & 1u)
            put(place + static_cast<Count>(__popc(lanes[j] & ((1u << lane) - 1))), j);
        place += static_cast<Count>(__popc(lanes[j]));
    }
}

// Appends those of a lane's entries whose bit in `mask` is set: put(place, entry).
template <int entries, class T, class Put>
__device__ __forceinline__ void append(unsigned mask, const T (&of)[entries], std::uint32_t* count,
                                       Put put) {
    append<entries>(mask, count, [&](std::uint32_t place, int j) { put(place, of[j]); });
}

}  // namespace kith::gpu
