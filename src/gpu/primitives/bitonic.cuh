// Bitonic networks on packed entries: within a thread, across a warp, across a block, and in shared
// memory.
//
// The picture: two sorted runs of s entries become one of 2s by a reversed layer, position p
// against p ^ (2s - 1), and then plain layers of the strides s/2, s/4 ... 1, position p against p ^
// stride (Hanak 2023, Fig. 3.2). The smaller entry always goes to the smaller position, so no layer
// has a direction, and a sequence that is cut off anywhere sorts by leaving out the comparators
// whose upper position it lacks (Johnson 2017's odd-size networks).
//   consecutive layout   thread t of a block holds the positions t * items + i (Hanak 2023, 4.1.1,
//   Algorithms 1 and 2):
//                        strides below `items` stay in the thread, below 32 * items in the warp
//   striped layout       lane l of a warp holds the positions l + 32 * j (Johnson 2017): strides of
//   32 and more stay in
//                        the thread
// Beside it lies the classic network, whose runs ascend and descend in turn: a layer is known by
// its stride alone, none is reversed. It serves sizes that are known at run time only
// (block_sort.cuh).
#pragma once

#include "gpu/primitives/block.cuh"
#include "gpu/primitives/packed.cuh"

namespace kith::gpu::bitonic {

__device__ __forceinline__ Packed smaller(Packed a, Packed b) {
    return b < a ? b : a;
}

// One comparator whose ends lie in one thread.
__device__ __forceinline__ void order(Packed& low, Packed& high) {
    const bool swap = high < low;
    const Packed a = swap ? high : low, b = swap ? low : high;
    low = a;
    high = b;
}

// One end of a comparator: the upper end keeps the larger entry, the lower end the smaller.
__device__ __forceinline__ Packed keep(Packed mine, Packed other, bool upper) {
    return (other < mine) != upper ? other : mine;
}

// ---------------------------------------------------------------- within a thread

// The plain layers of strides items/2 ... 1.
template <int items>
__device__ __forceinline__ void merge_thread(Packed (&x)[items]) {
#pragma unroll
    for (int stride = items / 2; stride > 0; stride /= 2) {
#pragma unroll
        for (int i = 0; i < items; ++i)
            if ((i & stride) == 0) order(x[i], x[i + stride]);
    }
}

template <int items>
__device__ __forceinline__ void sort_thread(Packed (&x)[items]) {
#pragma unroll
    for (int run = 1; run < items; run *= 2) {
#pragma unroll
        for (int i = 0; i < items; ++i)
            if ((i & run) == 0) order(x[i], x[i ^ (2 * run - 1)]);
#pragma unroll
        for (int stride = run / 2; stride > 0; stride /= 2) {
#pragma unroll
            for (int i = 0; i < items; ++i)
                if ((i & stride) == 0) order(x[i], x[i + stride]);
        }
    }
}

// ---------------------------------------------------------------- consecutive layout

// The layer between lanes l and l ^ stride, of which the upper one keeps the larger entries.
template <int items>
__device__ __forceinline__ void plain_lanes(Packed (&x)[items], int stride, bool upper) {
#pragma unroll
    for (int i = 0; i < items; ++i)
        x[i] = keep(x[i], __shfl_xor_sync(whole_warp, x[i], stride), upper);
}
template <int items>
__device__ __forceinline__ void plain_lanes(Packed (&x)[items], int stride) {
    plain_lanes(x, stride, threadIdx.x & stride);
}

// The reversed layer of a group of lanes (a power of two). The partner of item i is item items - 1
// - i: each lane sends that one, where Algorithm 2 reverses the registers of the upper half before
// and after.
template <int items>
__device__ __forceinline__ void reversed_lanes(Packed (&x)[items], int group) {
    const bool upper = threadIdx.x & (group / 2);
#pragma unroll
    for (int i = 0; i < (items + 1) / 2; ++i) {
        const int j = items - 1 - i;
        const Packed a = x[i], b = x[j];
        x[i] = keep(a, __shfl_xor_sync(whole_warp, b, group - 1), upper);
        if (i != j) x[j] = keep(b, __shfl_xor_sync(whole_warp, a, group - 1), upper);
    }
}

// The layer between threads t and t ^ flip of a block, of which the upper one keeps the larger
// entries, through `exchange` (shared, threads * items entries). All rows of the table of Fig. 4.1
// go at once, where the thesis sends two at a time to save shared memory: the buffer that is being
// sorted lends its own, and half of the barriers fall away.
template <int threads, int items>
__device__ __forceinline__ void shared_layer(Packed (&x)[items], Packed* exchange, unsigned flip,
                                             bool upper, bool reversed) {
    __syncthreads();
#pragma unroll
    for (int i = 0; i < items; ++i) exchange[i * threads + threadIdx.x] = x[i];
    __syncthreads();
    const unsigned partner = threadIdx.x ^ flip;
#pragma unroll
    for (int i = 0; i < items; ++i) {
        const int row = reversed ? items - 1 - i : i;
        x[i] = keep(x[i], exchange[row * threads + partner], upper);
    }
}

// Sorts the bitonic sequence that the first `span` threads hold (a power of two); whole block, what
// other threads hold is void afterwards.
template <int threads, int items>
__device__ __forceinline__ void merge_block(Packed (&x)[items], Packed* exchange, int span) {
    int stride = span / 2;
#pragma unroll 1
    for (; stride >= 32; stride /= 2)
        shared_layer<threads>(x, exchange, stride, threadIdx.x & stride, false);
    if (static_cast<int>(threadIdx.x & ~31u) >= span) return;
#pragma unroll 1
    for (; stride > 0; stride /= 2) plain_lanes(x, stride);
    merge_thread(x);
}

// Sorts the threads * items entries of a block. `exchange` may still be read by others when this is
// called.
template <int threads, int items>
__device__ __forceinline__ void sort_block(Packed (&x)[items], Packed* exchange) {
    sort_thread(x);
#pragma unroll 1
    for (int group = 2; group <= threads; group *= 2) {
        int stride = group / 4;
        if (group > 32) {
            shared_layer<threads>(x, exchange, group - 1, threadIdx.x & (group / 2), true);
#pragma unroll 1
            for (; stride >= 32; stride /= 2)
                shared_layer<threads>(x, exchange, stride, threadIdx.x & stride, false);
        } else {
            reversed_lanes(x, group);
        }
#pragma unroll 1
        for (; stride > 0; stride /= 2) plain_lanes(x, stride);
        merge_thread(x);
    }
}

// ---------------------------------------------------------------- striped layout

// Sorts a warp's bitonic sequence of 32 * rows entries, rows a power of two.
template <int rows>
__device__ __forceinline__ void merge_striped(Packed (&x)[rows]) {
    merge_thread(x);
#pragma unroll 1
    for (int stride = 16; stride > 0; stride /= 2) plain_lanes(x, stride);
}

// Sorts a warp's 32 * rows entries, any number of rows.
template <int rows>
__device__ __forceinline__ void sort_striped(Packed (&x)[rows]) {
#pragma unroll 1
    for (int group = 2; group <= 32; group *= 2) {
        const bool upper = threadIdx.x & (group / 2);
#pragma unroll
        for (int i = 0; i < rows; ++i)
            x[i] = keep(x[i], __shfl_xor_sync(whole_warp, x[i], group - 1), upper);
#pragma unroll 1
        for (int stride = group / 4; stride > 0; stride /= 2) plain_lanes(x, stride);
    }
#pragma unroll
    for (int run = 1; run < rows; run *= 2) {
#pragma unroll
        for (int i = 0; i < rows; ++i) {
            const int j = i ^ (2 * run - 1);
            if ((i & run) == 0 && j < rows) {
                Packed high = __shfl_xor_sync(whole_warp, x[j], 31);
                order(x[i], high);
                x[j] = __shfl_xor_sync(whole_warp, high, 31);
            }
        }
#pragma unroll
        for (int stride = run / 2; stride > 0; stride /= 2) {
#pragma unroll
            for (int i = 0; i < rows; ++i)
                if ((i & stride) == 0 && i + stride < rows) order(x[i], x[i + stride]);
        }
#pragma unroll 1
        for (int stride = 16; stride > 0; stride /= 2) plain_lanes(x, stride);
    }
}

// ---------------------------------------------------------------- in shared memory, one comparator
// per thread

// The lower end of comparator t of a layer whose ends lie `stride` apart, a power of two.
template <class Int>
__device__ __forceinline__ Int lower_end(Int t, Int stride) {
    return 2 * t - (t & (stride - 1));
}

// The layer of p against p ^ flip over `size` entries, `top` being the highest bit of flip, without
// comparators that reach to `count` or beyond.
__device__ __forceinline__ void layer_in_shared(Packed* x, int size, unsigned flip, unsigned top,
                                                unsigned count = ~0u) {
    __syncthreads();
    for (unsigned t = threadIdx.x; t < static_cast<unsigned>(size) / 2; t += blockDim.x) {
        const unsigned low = lower_end(t, top);
        if ((low ^ flip) < count) order(x[low], x[low ^ flip]);
    }
}

// Merges the sorted runs [0, run) and [run, count) of x, count <= 2 * run, run a power of two: the
// network of 2 * run entries, cut off. Ready for every thread on return.
__device__ __forceinline__ void merge_in_shared(Packed* x, int run, int count) {
    layer_in_shared(x, 2 * run, 2 * static_cast<unsigned>(run) - 1, static_cast<unsigned>(run),
                    static_cast<unsigned>(count));
    for (unsigned stride = static_cast<unsigned>(run) / 2; stride > 0; stride /= 2)
        layer_in_shared(x, 2 * run, stride, stride, static_cast<unsigned>(count));
    __syncthreads();
}

// ---------------------------------------------------------------- the classic network

// The layers of strides run/2 ... 1 over `size` entries, both powers of two: compare(i, j,
// ascending) for each comparator, i < j, is to leave the smaller entry at i where `ascending`, else
// the larger. Makes sorted runs of bitonic ones; a run of `size` is ascending. Strides up to 32
// stay within the 64 entries of a warp: most layers need no barrier of the block, where
// layer_in_shared keeps to the published algorithm's.
template <int threads, class Compare>
__device__ __forceinline__ void merge_runs(int size, int run, Compare compare) {
    for (int stride = run / 2; stride > 0; stride /= 2) {
        for (int t = threadIdx.x; t < size / 2; t += threads) {
            const int i = lower_end(t, stride);
            compare(i, i + stride, (i & run) == 0);
        }
        const bool next_in_warp = stride > 1 ? stride <= 32 : run <= 32;
        if (next_in_warp) __syncwarp();
        else __syncthreads();
    }
}

// Sorts `size` entries, a power of two. Barriers lie before the first use of the entries and after
// the last.
template <int threads, class Compare>
__device__ __forceinline__ void sort_runs(int size, Compare compare) {
    __syncthreads();
    for (int run = 2; run <= size; run *= 2) merge_runs<threads>(size, run, compare);
    __syncthreads();
}

__device__ __forceinline__ void order(Packed& a, Packed& b, bool ascending) {
    const bool swap = (b < a) == ascending;
    const Packed t = a;
    a = swap ? b : a;
    b = swap ? t : b;
}

// Sorts `size` entries in registers, a power of two of at least 2 * items, thread t holding those
// at t * items; whole block, what other threads hold is void afterwards. `exchange` (shared,
// threads * items entries) may still be read by others when this is called. One body serves all
// layers between threads, where sort_block has two and needs more registers.
template <int threads, int items>
__device__ __forceinline__ void sort_alternating(Packed (&x)[items], int size, Packed* exchange) {
    const auto t = static_cast<int>(threadIdx.x);
    const bool holds = t / 32 * 32 * items < size;  // other warps only keep the barriers
#pragma unroll
    for (int run = 2; run <= items; run *= 2) {
#pragma unroll
        for (int stride = run / 2; stride > 0; stride /= 2)
#pragma unroll
            for (int i = 0; i < items; ++i)
                if ((i & stride) == 0)
                    order(x[i], x[i + stride], run < items ? (i & run) == 0 : (t & 1) == 0);
    }
    for (int run = 2; run * items <= size; run *= 2) {
        const bool ascending = (t & run) == 0;
        for (int apart = run / 2; apart > 0; apart /= 2) {
            const bool upper = ((t & apart) == 0) != ascending;
            if (apart >= 32) shared_layer<threads>(x, exchange, apart, upper, false);
            else if (holds) plain_lanes(x, apart, upper);
        }
#pragma unroll
        for (int stride = items / 2; stride > 0; stride /= 2)
#pragma unroll
            for (int i = 0; i < items; ++i)
                if ((i & stride) == 0) order(x[i], x[i + stride], ascending);
    }
}

}  // namespace kith::gpu::bitonic
