// Block-wide steps of the truncated bitonic sort, TBiS (Sismanis 2012, 3.1), on entries in shared
// memory. Lists of `length` entries, a power of two, are sorted in alternating directions. The
// minima of two neighbouring lists form a bitonic list, which is merged; the maxima are dropped.
//
// A thread owns up to four pairs of every step; pairs of steps up to 32 stay within a warp. Lists
// of several rows may follow each other, a power of two per row: neighbours belong to one row until
// it has one list left. A list ascends if the bit `length` of its first place is 0, else it
// descends.
#pragma once

#include "gpu/primitives/sort/bitonic.cuh"
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

// Reduces `size` unordered entries to the sorted lists of the first `kept` places. The caller puts
// a barrier before the first use; there is one after the last.
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

// Copies the first sorted lists of `data` to `best`. With `history`, `best` keeps the smaller half
// of both instead.
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
