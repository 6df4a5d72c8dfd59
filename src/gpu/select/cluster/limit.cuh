// A row in the registers of a cluster's blocks, and a limit from a sample of it, above which
// nothing is looked at again (cluster_select.cu).
#pragma once

#include <cmath>
#include <type_traits>

#include "exact/element.h"
#include "gpu/primitives/cluster.cuh"
#include "gpu/primitives/packed.cuh"
#include "gpu/select/cluster/tuning.h"

namespace kith::gpu::cluster {

using tuning::cluster_threads;

constexpr int warps = cluster_threads / 32, few_groups = 128, most_groups = 256;
constexpr int intervals = 2048, own_intervals = intervals / cluster_threads;
// Entries that the first block can sort, how many of them by comparing each with all, and else how
// many of an interval.
constexpr int most_entries = 8192, most_compared = cluster_threads / 2, most_of_an_interval = 64;
// Up to so many neighbours the limit is a least key.
constexpr int most_of_least = 256;
static_assert(most_entries >= 2 * tuning::cluster_max_k && most_entries <= 16 * cluster_threads);

// Four adjacent values, as bits.
__device__ __forceinline__ void load_four(const float* from, std::uint32_t (&bits)[4]) {
    const uint4 four = *reinterpret_cast<const uint4*>(from);
    bits[0] = four.x;
    bits[1] = four.y;
    bits[2] = four.z;
    bits[3] = four.w;
}
template <class Half>
__device__ __forceinline__ void load_four(const Half* from, std::uint32_t (&bits)[4]) {
    const uint2 four = *reinterpret_cast<const uint2*>(from);
    bits[0] = four.x & 0xffffu;
    bits[1] = four.x >> 16;
    bits[2] = four.y & 0xffffu;
    bits[3] = four.y >> 16;
}
__device__ __forceinline__ std::uint32_t bits_of(float v) {
    return __float_as_uint(v);
}
template <class Half>
__device__ __forceinline__ std::uint32_t bits_of(Half v) {
    return v.bits;
}

// The value of a T that has these bits.
template <class T>
__device__ __forceinline__ float value_of(std::uint32_t bits) {
    if constexpr (std::is_same_v<T, float16>)
        return exact::half_to_float(static_cast<std::uint16_t>(bits));
    else if constexpr (std::is_same_v<T, bfloat16>) return __uint_as_float(bits << 16);
    else return __uint_as_float(bits);
}

struct ClusterShared {
    alignas(16) std::uint32_t counts[2][intervals];
    std::uint32_t behind_counts[4];  // sort_by_intervals takes both and these
    Packed entries[most_entries];
    Packed sorted[tuning::cluster_max_k + most_of_an_interval];
    alignas(16) std::uint32_t sample[most_groups];
    std::uint32_t minima[tuning::cluster_most_blocks * warps];  // of the warps of all blocks
    std::uint32_t sums[warps];
    std::uint32_t limit;
    std::uint32_t interval, before, inside;  // of the k-th
    std::uint32_t found;                     // entries, in the first block
};

static_assert(sizeof(ClusterShared) <=
              99 << 10);  // what a block may have on compute capability 8.6

// A block's share of a row in the registers of its threads.
template <class T, int held>
struct Share {
    const T* values;
    std::uint32_t first;  // column of the first
    int size;
    std::uint32_t key[held];

    __device__ static int place(int u) {
        return (u / 4 * cluster_threads + static_cast<int>(threadIdx.x)) * 4 + u % 4;
    }
    __device__ std::uint32_t index(int u) const {
        return first + static_cast<std::uint32_t>(place(u));
    }
    __device__ bool holds(int u) const { return place(u) < size; }

    // All reads are on their way before the first is waited for.
    __device__ __forceinline__ void load(bool vectors, bool largest) {
#pragma unroll
        for (int u = 0; u < held; u += 4) {
            std::uint32_t bits[4] = {};
            if (vectors && place(u) + 3 < size) {
                load_four(values + place(u), bits);
            } else {
#pragma unroll
                for (int i = 0; i < 4; ++i)
                    if (holds(u + i)) bits[i] = bits_of(values[place(u + i)]);
            }
#pragma unroll
            for (int i = 0; i < 4; ++i) key[u + i] = bits[i];
        }
#pragma unroll
        for (int u = 0; u < held; ++u)
            key[u] = holds(u) ? exact::Order<float>::key(value_of<T>(key[u]), largest)
                              : exact::Order<float>::nan;
    }
};

// How the limit is taken: the sample's size, whether its keys are their groups' least, which of
// them is the limit, and whether what is within it is likely to find room.
struct Sampling {
    int groups = 0;  // 0: no limit
    bool least = false;
    int rank = 0;  // from 1
    bool fits = false;
};

inline Sampling sampling_of(int k, int blocks, int held) {
    // A group lies within a warp.
    if (k <= most_of_least)
        return {k <= 64 && blocks <= 8 ? few_groups : most_groups, true, k, true};
    // So many of a sample of single keys are expected among the k smallest; three standard
    // deviations more.
    const double group = static_cast<double>(blocks) * held * cluster_threads / most_groups,
                 share = k / group;
    const int rank = static_cast<int>(share + 3 * std::sqrt(share)) + 2;
    if (rank > most_groups / 2) return {};
    return {most_groups, false, rank, group * (rank + 3 * std::sqrt(rank)) <= most_entries};
}

// Gives every block of the cluster the sample and the least key of the row; returns that.
template <class T, int held>
__device__ __forceinline__ std::uint32_t take_sample(const Share<T, held>& share,
                                                     const Sampling& sampling, int blocks, int rank,
                                                     ClusterShared& shared) {
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    const int threads =
        sampling.groups > 0 ? blocks * (cluster_threads / sampling.groups) : 1;  // within a warp
    const int group = (rank * cluster_threads + static_cast<int>(threadIdx.x)) / threads;
    // Another place in each group, so that they are spread over the row.
    const int at = group * 5 % held;
    std::uint32_t least = share.key[0], single = share.key[0];
#pragma unroll
    for (int u = 1; u < held; ++u) {
        least = min(least, share.key[u]);
        if (u == at) single = share.key[u];
    }
    wait_for_blocks(blocks);
    if (sampling.groups > 0) {
        std::uint32_t mine =
            sampling.least ? least : __shfl_sync(whole_warp, single, lane & ~(threads - 1));
        for (int step = 1; sampling.least && step < threads; step *= 2)
            mine = min(mine, __shfl_xor_sync(whole_warp, mine, step));
        // Lane j of a group writes to block j.
        const int to = lane & (threads - 1);
        if (to < blocks) in_block(&shared, to)->sample[group] = mine;
    }
    least = __reduce_min_sync(whole_warp, least);
    if (lane < blocks) in_block(&shared, lane)->minima[rank * warps + warp] = least;
    sync_blocks(blocks);
    for (int i = lane; i < blocks * warps; i += 32) least = min(least, shared.minima[i]);
    return __reduce_min_sync(whole_warp, least);
}

// The key of the sample that has its rank. shared.limit is the largest key before.
template <int groups>
__device__ __forceinline__ std::uint32_t limit_of(int rank, ClusterShared& shared) {
    // Four keys are compared by as many threads as there are for them, each with its part of the
    // sample.
    constexpr int threads = 4 * cluster_threads / groups;
    const auto* const sample = reinterpret_cast<const uint4*>(shared.sample);
    const uint4 keys = sample[threadIdx.x / threads];
    const std::uint32_t key[4] = {keys.x, keys.y, keys.z, keys.w};
    int within[4] = {};
#pragma unroll
    for (int i = static_cast<int>(threadIdx.x) % threads; i < groups / 4; i += threads) {
        const uint4 four = sample[i];
#pragma unroll
        for (int j = 0; j < 4; ++j)
            within[j] +=
                (four.x <= key[j]) + (four.y <= key[j]) + (four.z <= key[j]) + (four.w <= key[j]);
    }
    std::uint32_t least = exact::Order<float>::nan;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
        for (int step = 1; step < threads; step *= 2)
            within[j] += __shfl_xor_sync(whole_warp, within[j], step);
        if (within[j] >= rank) least = min(least, key[j]);
    }
    least = __reduce_min_sync(whole_warp, least);
    if (threadIdx.x % 32 == 0) atomicMin(&shared.limit, least);
    __syncthreads();
    return shared.limit;
}

}  // namespace kith::gpu::cluster
