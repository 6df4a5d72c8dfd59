// An order statistic of what a block holds in its registers, and what is no larger.
#pragma once

#include "gpu/primitives/block.cuh"
#include "gpu/primitives/packed.cuh"
#include "gpu/primitives/sample.h"

namespace kith::gpu::sampling {

// What reduce(), over a warp, makes of the words of a block's warps in shared memory: sums or
// maxima, to which 0 adds nothing. A lane reads one.
template <int block, class Reduce>
__device__ __forceinline__ std::uint32_t over_warps(const std::uint32_t* words, Reduce reduce) {
    const auto lane = static_cast<int>(threadIdx.x % 32);
    return reduce(lane < block / 32 ? words[lane] : 0u);
}

// The word of one of the block's entries, `mine` per thread, such that at least `rank` and at most
// rank + slack entries have a word up to it; where equal words forbid that, the smallest with at
// least `rank`. word(entry) is an entry's word. `in_all` receives how many entries have such a
// word. Each round cuts the interval of candidates to a third or a quarter; the counts travel in
// one word. `near`: the words are near each other, so that it pays to begin between the least and
// the largest. `sums`: block / 16 words of shared memory; of 32 threads, which may be a warp of a
// larger block, none.
template <int block, bool near = false, int mine, class Entry, class Word>
__device__ std::uint32_t word_threshold(const Entry (&x)[mine], int rank, int slack,
                                        std::uint32_t* sums, int& in_all, Word word) {
    // Three counts of ten bits, or two of sixteen where the block has too many entries.
    constexpr int pivots = block * mine < 1024 ? 3 : 2, bits = pivots == 3 ? 10 : 16;
    static_assert(block * mine < 1 << 16);
    // The answer is in [low, high]: fewer than `rank` entries count below low, at least `rank` at
    // high.
    std::uint32_t low = 0, high = ~std::uint32_t{0};
    [[maybe_unused]] int turn = 0;  // of two places for counts
    in_all = block * mine;
    if constexpr (block == 32) {
        // A warp knows its least and largest word at once; the very largest words are places
        // without an entry.
        std::uint32_t least = ~std::uint32_t{0}, most = 0;
        int entries = 0;
#pragma unroll
        for (int i = 0; i < mine; ++i) {
            const std::uint32_t own = word(x[i]);
            least = min(least, own);
            if (own == ~std::uint32_t{0}) continue;
            most = max(most, own);
            ++entries;
        }
        entries = static_cast<int>(__reduce_add_sync(whole_warp, static_cast<unsigned>(entries)));
        low = __reduce_min_sync(whole_warp, least);
        if (entries >= rank) {
            high = __reduce_max_sync(whole_warp, most);
            in_all = entries;
        }
    } else if constexpr (near) {
        std::uint32_t least = word(x[0]), most = least;
#pragma unroll
        for (int i = 1; i < mine; ++i) {
            least = min(least, word(x[i]));
            most = max(most, word(x[i]));
        }
        least = __reduce_min_sync(whole_warp, least);
        most = __reduce_max_sync(whole_warp, most);
        if (threadIdx.x % 32 == 0) {
            sums[threadIdx.x / 32] = ~least;
            sums[block / 32 + threadIdx.x / 32] = most;
        }
        __syncthreads();
        const auto largest = [](std::uint32_t own) { return __reduce_max_sync(whole_warp, own); };
        low = ~over_warps<block>(sums, largest);
        high = over_warps<block>(sums + block / 32, largest);
        __syncthreads();
    }
    while (low < high && in_all > rank + slack) {
        const std::uint32_t part = (high - low) / (pivots + 1);
        std::uint32_t counts = 0;
#pragma unroll
        for (int p = 0; p < pivots; ++p)
#pragma unroll
            for (int i = 0; i < mine; ++i)
                counts += word(x[i]) <= low + part * (p + 1) ? 1u << (p * bits) : 0u;
        counts = __reduce_add_sync(whole_warp, counts);
        if constexpr (block > 32) {
            std::uint32_t* const slot = sums + turn * (block / 32);
            turn ^= 1;
            if (threadIdx.x % 32 == 0) slot[threadIdx.x / 32] = counts;
            __syncthreads();
            counts = over_warps<block>(
                slot, [](std::uint32_t x) { return __reduce_add_sync(whole_warp, x); });
        }
        const std::uint32_t from = low;
        low = from + part * pivots + 1;  // unless a pivot reaches the rank
#pragma unroll
        for (int p = pivots - 1; p >= 0; --p) {
            const auto in = static_cast<int>(counts >> (p * bits) & ((1u << bits) - 1));
            if (in < rank) continue;
            high = from + part * (p + 1);
            low = p == 0 ? from : from + part * p + 1;
            in_all = in;
        }
    }
    // `high` may lie in a gap between words, and a gap of the sample is no gap of the row: the
    // largest word up to it.
    std::uint32_t most = 0;
#pragma unroll
    for (int i = 0; i < mine; ++i)
        if (word(x[i]) <= high) most = max(most, word(x[i]));
    most = __reduce_max_sync(whole_warp, most);
    if constexpr (block > 32) {
        __syncthreads();
        if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = most;
        __syncthreads();
        most = over_warps<block>(sums,
                                 [](std::uint32_t x) { return __reduce_max_sync(whole_warp, x); });
        __syncthreads();
    }
    return most;
}

// One of the block's distinct entries, with at least `rank` and at most rank + slack of them up to
// and including it: by the keys, and where one key has too many, by the indices among those.
template <int block, int mine>
__device__ Packed threshold_of(const Packed (&x)[mine], int rank, int slack, std::uint32_t* sums) {
    int in_all = 0;
    const std::uint32_t key = word_threshold<block>(
        x, rank, slack, sums, in_all, [](Packed p) { return static_cast<std::uint32_t>(p >> 32); });
    if (in_all <= rank + slack) return static_cast<Packed>(key) << 32 | 0xffffffffu;
    const std::uint32_t index =
        word_threshold<block>(x, rank, slack, sums, in_all, [key](Packed p) {
            const auto mine_key = static_cast<std::uint32_t>(p >> 32);
            return mine_key < key    ? 0u
                   : mine_key == key ? static_cast<std::uint32_t>(p)
                                     : 0xffffffffu;
        });
    return static_cast<Packed>(key) << 32 | index;
}

// Of `count` entries in shared memory, at most mine * block, leaves the k smallest and perhaps
// more, up to the power of two that gives a quarter of room (finding the very k-th takes more
// rounds); returns how many. `room` is a shared counter.
template <int block, int mine>
__device__ __noinline__ int shrink(Packed* entries, int count, int k, std::uint32_t* sums,
                                   int* room) {
    const int power = sorted_size(k);
    __syncthreads();
    if (count <= power) return count;
    Packed x[mine];
#pragma unroll
    for (int i = 0; i < mine; ++i) {
        const int at = static_cast<int>(threadIdx.x) + i * block;
        x[i] = at < count ? entries[at] : packed_end;
    }
    if (threadIdx.x == 0) *room = 0;
    const Packed limit = threshold_of<block>(x, k, power - k, sums);
#pragma unroll
    for (int i = 0; i < mine; ++i)
        if (x[i] <= limit) entries[atomicAdd(room, 1)] = x[i];
    __syncthreads();
    return *room;
}

}  // namespace kith::gpu::sampling
