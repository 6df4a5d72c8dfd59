// Sorting an array by the threads of a block: in shared memory, or in global memory that only this block touches.
#pragma once

#include "gpu/primitives/bitonic.cuh"

namespace kith::gpu {

// Sorts `size` entries, a power of two, in place: a comparator per thread, whatever the size, in few registers. Ready
// for every thread on return.
template <int threads, class T>
__device__ void block_sort(T* data, int size) {
    bitonic::sort_runs<threads>(size, [&](int i, int j, bool ascending) {
        const T a = data[i], b = data[j];
        if ((b < a) != ascending) return;
        data[i] = b;
        data[j] = a;
    });
}

// Sorts get(0) ... get(count - 1) in `data`, which has room for the next power of two: the size returned. Behind the
// entries lies the largest T. What was in `data` before must be done with.
template <int threads, class T, class Count, class Get>
__device__ __forceinline__ int block_sort_of(T* data, Count count, Get get) {
    int size = 2;
    while (size < static_cast<int>(count)) size *= 2;
    for (Count i = threadIdx.x; i < static_cast<Count>(size); i += threads)
        data[i] = i < count ? get(i) : static_cast<T>(~T{0});
    block_sort<threads>(data, size);
    return size;
}

namespace detail {

template <int block, int own>
__device__ __noinline__ void sort_held(Packed* entries, int count, int size) {
    Packed x[own];
    const int first = static_cast<int>(threadIdx.x) * own;
#pragma unroll
    for (int i = 0; i < own; ++i) x[i] = first + i < count ? entries[first + i] : packed_end;
    bitonic::sort_alternating<block>(x, size, entries);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < own; ++i)
        if (first + i < size) entries[first + i] = x[i];
    __syncthreads();
}

}  // namespace detail

// Sorts `count` entries, at most 16 * block, with room for the next power of two and for 2 * block; every thread calls.
// Behind the entries lies packed_end. A thread holds several entries in registers, so that few layers go through shared
// memory; that takes registers and room which block_sort does not.
template <int block>
__device__ __forceinline__ void block_sort_in_registers(Packed* entries, int count) {
    __syncthreads();
    int size = 64;
    while (size < count) size *= 2;
    if (size <= 2 * block) detail::sort_held<block, 2>(entries, count, size);
    else if (size <= 4 * block) detail::sort_held<block, 4>(entries, count, size);
    else if (size <= 8 * block) detail::sort_held<block, 8>(entries, count, size);
    else detail::sort_held<block, 16>(entries, count, size);
}

}  // namespace kith::gpu
