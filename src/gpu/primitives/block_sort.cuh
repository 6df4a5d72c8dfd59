// Sorting an array by the threads of a block: in shared memory, or in global memory that only this
// block touches.
#pragma once

#include <bit>

#include "gpu/primitives/bitonic.cuh"

namespace kith::gpu {

// Sorts `size` entries, a power of two, in place: a comparator per thread, whatever the size, in
// few registers. Ready for every thread on return.
template <int threads, class T>
__device__ void block_sort(T* data, int size) {
    bitonic::sort_runs<threads>(size, [&](int i, int j, bool ascending) {
        const T a = data[i], b = data[j];
        if ((b < a) != ascending) return;
        data[i] = b;
        data[j] = a;
    });
}

// Sorts get(0) ... get(count - 1) in `data`, which has room for the next power of two: the size
// returned. Behind the entries lies the largest T. What was in `data` before must be done with.
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

// Sorts `count` entries, at most 16 * block, with room for the next power of two and for 2 * block;
// every thread calls. Behind the entries lies packed_end. A thread holds several entries in
// registers, so that few layers go through shared memory; that takes registers and room which
// block_sort does not.
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

// The smallest `k` of `count` entries in shared memory, fewer than 2^16, in order: entries[0] ...
// entries[k - 1]. Their keys (the upper halves) are within [low, high]. That range is cut into
// `intervals` equal parts, a power of two: an entry's rank is the number of those in lower parts
// and, by comparing, in its own. Where a part holds more than `most` (keys that are equal, or far
// from evenly spread) nothing is moved, and the answer, the same for every thread, is false. Shared
// memory: counts, intervals + 4 values; sums, block / 32; room, k + most entries. Every thread
// calls; `entries` must be ready for all, and are on return.
template <int block, int intervals, int most>
__device__ bool sort_by_intervals(Packed* entries, int count, int k, std::uint32_t low,
                                  std::uint32_t high, std::uint32_t* counts, std::uint32_t* sums,
                                  Packed* room) {
    constexpr int own = intervals / block;
    static_assert(own % 4 == 0 && std::has_single_bit(static_cast<unsigned>(intervals)));
    constexpr int bits = std::countr_zero(static_cast<unsigned>(intervals));
    const int shift = max(0, 32 - bits - __clz(static_cast<int>(high - low))),
              thread = static_cast<int>(threadIdx.x);
    const auto part_of = [&](Packed entry) {
        return (static_cast<std::uint32_t>(entry >> 32) - low) >> shift;
    };
    uint4* const mine = reinterpret_cast<uint4*>(counts) + thread * (own / 4);
#pragma unroll
    for (int i = 0; i < own / 4; ++i) mine[i] = uint4{};
    __syncthreads();
#pragma unroll 4
    for (int j = thread; j < count; j += block) atomicAdd(&counts[part_of(entries[j])], 1u);
    __syncthreads();
    std::uint32_t ends[own], largest = 0, sum = 0;
#pragma unroll
    for (int i = 0; i < own / 4; ++i) {
        const uint4 four = mine[i];
        const std::uint32_t sizes[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int at = 0; at < 4; ++at) {
            largest = max(largest, sizes[at]);
            ends[4 * i + at] = sum += sizes[at];
        }
    }
    if (__syncthreads_or(largest > static_cast<std::uint32_t>(most))) return false;
    std::uint32_t all = 0;
    const std::uint32_t before = block_prefix<block>(sum, sums, all);
#pragma unroll
    for (int i = 0; i < own / 4; ++i)
        mine[i] = {before + ends[4 * i], before + ends[4 * i + 1], before + ends[4 * i + 2],
                   before + ends[4 * i + 3]};
    if (thread == 0) counts[intervals] = all;
    __syncthreads();
    // A part is filled from its end, so that its count becomes its beginning. Parts that begin
    // behind k are left out.
    const int kept = k + most;
#pragma unroll 2
    for (int j = thread; j < count; j += block) {
        const Packed entry = entries[j];
        const int place = static_cast<int>(atomicSub(&counts[part_of(entry)], 1u)) - 1;
        if (place < kept) room[place] = entry;
    }
    __syncthreads();
    for (int j = thread; j < min(count, kept); j += block) {
        const Packed entry = room[j];
        const std::uint32_t part = part_of(entry), begin = counts[part], end = counts[part + 1];
        if (begin >= static_cast<std::uint32_t>(k)) continue;
        std::uint32_t rank = begin;
#pragma unroll 4
        for (std::uint32_t i = begin; i < end; ++i) rank += room[i] < entry;
        entries[rank] = entry;
    }
    __syncthreads();
    return true;
}

}  // namespace kith::gpu
