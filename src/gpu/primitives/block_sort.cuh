// Sorting an array by the threads of a block: in shared memory, or in global memory that only this block touches.
#pragma once

#include <bit>

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

// Sorts `count` entries in shared memory, at most own * block, whose keys (their upper halves) are within [low, high].
// That range is cut into `intervals` equal parts, a multiple of 4 * block: an entry's rank is the number of those in
// lower parts and, by comparing, in its own. Where a part holds more than `most` (keys that are equal, or far from evenly
// spread) nothing is moved, and the answer, the same for every thread, is false. counts: `intervals` values in shared
// memory; sums: block / 32. Every thread calls; `entries` must be ready for all, and are on return.
template <int block, int intervals, int own, int most>
__device__ bool sort_by_intervals(Packed* entries, int count, std::uint32_t low, std::uint32_t high,
                                  std::uint32_t* counts, std::uint32_t* sums) {
    constexpr int parts = intervals / block;
    static_assert(parts % 4 == 0 && std::has_single_bit(static_cast<unsigned>(intervals)));
    static_assert(own * block < 1 << 16 && most < 1 << 16);
    constexpr int bits = std::countr_zero(static_cast<unsigned>(intervals));
    const int shift = max(0, 32 - bits - __clz(static_cast<int>(high - low)));
    uint4* const mine = reinterpret_cast<uint4*>(counts) + threadIdx.x * (parts / 4);
#pragma unroll
    for (int i = 0; i < parts / 4; ++i) mine[i] = uint4{};
    __syncthreads();
    Packed held[own];
    std::uint32_t place[own];
    const auto part_of = [&](Packed entry) { return (static_cast<std::uint32_t>(entry >> 32) - low) >> shift; };
#pragma unroll
    for (int i = 0; i < own; ++i) {
        const int j = i * block + static_cast<int>(threadIdx.x);
        if (j >= count) break;
        held[i] = entries[j];
        place[i] = atomicAdd(&counts[part_of(held[i])], 1u);
    }
    __syncthreads();
    std::uint32_t sizes[parts], total = 0, largest = 0;
#pragma unroll
    for (int i = 0; i < parts / 4; ++i) {
        const uint4 four = mine[i];
        sizes[4 * i] = four.x;
        sizes[4 * i + 1] = four.y;
        sizes[4 * i + 2] = four.z;
        sizes[4 * i + 3] = four.w;
    }
#pragma unroll
    for (int i = 0; i < parts; ++i) {
        total += sizes[i];
        largest = max(largest, sizes[i]);
    }
    if (__syncthreads_or(largest > static_cast<std::uint32_t>(most))) return false;
    std::uint32_t all = 0, first = block_prefix<block>(total, sums, all);
#pragma unroll
    for (int i = 0; i < parts; ++i) {
        const std::uint32_t size = sizes[i];
        sizes[i] = size << 16 | first;
        first += size;
    }
#pragma unroll
    for (int i = 0; i < parts / 4; ++i)
        mine[i] = {sizes[4 * i], sizes[4 * i + 1], sizes[4 * i + 2], sizes[4 * i + 3]};
    __syncthreads();
    // Every entry is in a register: the array takes them part by part.
#pragma unroll
    for (int i = 0; i < own; ++i) {
        if (i * block + static_cast<int>(threadIdx.x) >= count) break;
        entries[(counts[part_of(held[i])] & 0xffffu) + place[i]] = held[i];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < own; ++i) {
        if (i * block + static_cast<int>(threadIdx.x) >= count) break;
        const std::uint32_t part = counts[part_of(held[i])], start = part & 0xffffu;
        place[i] = start;
        for (std::uint32_t j = start; j < start + (part >> 16); ++j) place[i] += entries[j] < held[i];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < own; ++i) {
        if (i * block + static_cast<int>(threadIdx.x) >= count) break;
        entries[place[i]] = held[i];
    }
    __syncthreads();
    return true;
}

}  // namespace kith::gpu
