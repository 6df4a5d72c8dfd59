// An order statistic of the entries in a block's registers, and the entries up to it.
#pragma once

#include "gpu/primitives/block.cuh"
#include "gpu/primitives/packed.cuh"
#include "gpu/primitives/sample.h"

namespace kith::gpu::sampling {

// Combines one word per warp of a block, in shared memory, by reduce() over a warp: sums or maxima,
// for which 0 is neutral. A lane reads one word.
template <int block, class Reduce>
__device__ __forceinline__ std::uint32_t over_warps(const std::uint32_t* words, Reduce reduce) {
    const auto lane = static_cast<int>(threadIdx.x % 32);
    return reduce(lane < block / 32 ? words[lane] : 0u);
}

// Returns the word of one of the block's entries, `mine` per thread, such that at least `rank` and
// at most rank + slack entries have a word up to it. If equal words forbid that, it is the smallest
// word with at least `rank` entries. word(entry) is an entry's word. `in_all` receives the number
// of entries up to the result.
//
// Each round narrows the search interval to a third or a quarter; its counts are packed in one
// word. `near`: the words are close together, so the search starts between their minimum and
// maximum. `sums`: block / 16 words of shared memory; unused if `block` is 32, which may be one
// warp of a larger block.
template <int block, bool near = false, int mine, class Entry, class Word>
__device__ std::uint32_t word_threshold(const Entry (&x)[mine], int rank, int slack,
                                        std::uint32_t* sums, int& in_all, Word word) {
    // Three counts of ten bits, or two of sixteen if the block has too many entries.
    constexpr int pivots = block * mine < 1024 ? 3 : 2, bits = pivots == 3 ? 10 : 16;
    static_assert(block * mine < 1 << 16);
    // The answer is in [low, high]: fewer than `rank` entries lie below `low`, at least `rank` up
    // to `high`.
    std::uint32_t low = 0, high = ~std::uint32_t{0};
    [[maybe_unused]] int turn = 0;  // alternates between two slots of counts
    in_all = block * mine;
    if constexpr (block == 32) {
        // A warp finds its least and largest word at once. The largest possible word marks an empty
        // place.
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
    // `high` may lie in a gap between words. A gap of the sample is no gap of the row, so the
    // result is the largest word up to `high`.
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

// One of the block's distinct entries, such that at least `rank` and at most rank + slack entries
// are up to it. Searches the keys; if one key has too many entries, also their indices.
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

// Reduces `count` entries in shared memory, at most mine * block, to the k smallest and perhaps
// more, and returns how many remain. At most sorted_size(k) remain, a power of two with a quarter
// of room: the exact k-th would take more rounds. `room` is a shared counter.
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
