// The steps of the truncated bitonic sort, TBiS (Sismanis 2012, 3.1), of a block on entries in
// shared memory: lists of `length` entries, a power of two, are sorted in alternating directions;
// the minima of two neighbouring lists are a bitonic list, which is merged; the maxima purged.
//
// A thread owns up to four pairs of every step; pairs of steps up to 32 stay within a warp. Lists
// of several rows may lie one after the other, each row's a power of two: neighbours are of one row
// until it has one list left. A list ascends where the bit `length` of its first place is 0, and
// descends elsewhere.
#pragma once

#include "gpu/primitives/bitonic.cuh"
#include "gpu/primitives/tally.cuh"

namespace kith::gpu::tbis {

inline constexpr int threads = 512, held = 4;
inline constexpr int longest = 2 * threads * held;  // entries at once

// Merges the bitonic runs of `run` entries.
__device__ __forceinline__ void merge(Packed* data, int size, int run, Tally& tally) {
    bitonic::merge_runs<threads>(size, run, [&](int i, int j, bool ascending) {
        const Packed a = data[i], b = data[j];
        tally.compared();
        if ((b < a) != ascending) return;
        data[i] = b;
        data[j] = a;
        tally.moved(2);
    });
    __syncthreads();
}

// From `size` entries in any order to the sorted lists of the first `kept` places. Barriers lie
// before the first use, which is the caller's, and after the last.
__device__ __forceinline__ void truncate(Packed* data, int size, int length, int kept,
                                         Tally& tally) {
    for (int run = 2; run <= length; run *= 2) merge(data, size, run, tally);
    while (size > kept) {
        size /= 2;
        Packed minima[held];
#pragma unroll
        for (int u = 0; u < held; ++u) {
            const int i = static_cast<int>(threadIdx.x) + u * threads;
            if (i >= size) break;
            const int at = i / length * 2 * length + i % length;
            minima[u] = min(data[at], data[at + length]);
            tally.compared();
            tally.moved();
        }
        __syncthreads();
#pragma unroll
        for (int u = 0; u < held; ++u) {
            const int i = static_cast<int>(threadIdx.x) + u * threads;
            if (i < size) data[i] = minima[u];
        }
        __syncthreads();
        merge(data, size, length, tally);
    }
}

// The first sorted lists of `data` become those of `best`; later ones (`history`) leave the smaller
// half of both.
__device__ __forceinline__ void keep_best(Packed* best, const Packed* data, int size, int length,
                                          bool history, Tally& tally) {
    for (int i = threadIdx.x; i < size; i += threads) {
        if (history) {
            best[i] = min(best[i], data[i ^ (length - 1)]);
            tally.compared();
        } else {
            best[i] = data[i];
        }
        tally.moved();
    }
    __syncthreads();
    if (history) merge(best, size, length, tally);
}

}  // namespace kith::gpu::tbis
