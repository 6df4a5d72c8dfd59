// The k smallest entries that a block has seen, with a buffer for candidates (Hanak 2023, 4.1).
//
// A block owns the queue. Between merges the sorted entries and the buffer rest in shared memory,
// so that the registers belong to the scan; a merge takes the buffer into registers (`items` per
// thread, consecutive layout), sorts it, takes the smaller of each pair with the reversed queue
// (R_2k) and sorts that bitonic sequence.
#pragma once

#include "gpu/primitives/bitonic.cuh"

namespace kith::gpu {

// Holds `capacity` entries, k of which are asked for; buffers threads * items candidates.
template <int capacity, int threads_, int items>
struct BlockQueue {
    static constexpr int threads = threads_;
    static constexpr int buffer_size = threads * items;
    static constexpr int holders =
        capacity / items;  // threads whose registers hold the queue in a merge
    static_assert(buffer_size >= capacity && holders >= 1);

    struct Storage {
        Packed entries[capacity];
        Packed buffer[buffer_size];
        int fill;  // entries that were offered to the buffer since the last merge; may exceed
                   // buffer_size
    };

    Storage& shared;
    int k;

    // The place of position p, such that the threads of a warp reach different banks.
    static __device__ __forceinline__ int place(int p) { return p % items * holders + p / items; }
    __device__ __forceinline__ Packed at(int p) const { return shared.entries[place(p)]; }
    // What a candidate must be smaller than.
    __device__ __forceinline__ Packed radius() const { return at(k - 1); }

    __device__ __forceinline__ void clear() {
        for (int i = threadIdx.x; i < capacity; i += threads) shared.entries[i] = packed_end;
        if (threadIdx.x == 0) shared.fill = 0;
        __syncthreads();
    }

    // Merges one unsorted entry per register; whole block. Barriers lie before the first use of the
    // buffer's memory and after the last write.
    __device__ __forceinline__ void merge(Packed (&x)[items]) {
        bitonic::sort_block<threads>(x, shared.buffer);
        if (static_cast<int>(threadIdx.x) < holders) {
#pragma unroll
            for (int i = 0; i < items; ++i)
                x[i] = bitonic::smaller(
                    x[i], shared.entries[(items - 1 - i) * holders + holders - 1 - threadIdx.x]);
        }
        bitonic::merge_block<threads>(x, shared.buffer, holders);
        __syncthreads();
        if (static_cast<int>(threadIdx.x) < holders) {
#pragma unroll
            for (int i = 0; i < items; ++i) shared.entries[i * holders + threadIdx.x] = x[i];
        }
        if (threadIdx.x == 0) shared.fill = 0;
        __syncthreads();
    }

    // Merges the buffer; a barrier must lie between the last push and this.
    __device__ __forceinline__ void merge_buffer() {
        const int count = shared.fill;
        Packed x[items];
#pragma unroll
        for (int i = 0; i < items; ++i) {
            const int j = i * threads + static_cast<int>(threadIdx.x);
            x[i] = j < count ? shared.buffer[j] : packed_end;
        }
        merge(x);
    }
};

}  // namespace kith::gpu
