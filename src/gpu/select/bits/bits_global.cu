// "bits-global" (Hanak 2023, 5.6): bits with the k smallest in global memory, for k beyond a
// block's shared memory.
//
// A grid has a block per row. The block scans its row (scan_row.cuh) into a buffer of 4096 in
// shared memory; a full buffer is sorted in registers and merged with the row's sorted list, from
// one of two lists in global memory to the other: every entry is written at the sum of its ranks in
// both, found by binary search. The thesis' list is unsorted; a sorted one costs that merge and
// gives the result in order.
#include "gpu/primitives/bitonic.cuh"
#include "gpu/runtime/device_memory.h"
#include "gpu/select/bits/scan_row.cuh"
#include "gpu/select/result.cuh"

namespace kith::gpu {

namespace {

constexpr int threads = 512, items = 8, reads = 8;

// Of `count` sorted entries, how many are smaller than p.
__device__ __forceinline__ int rank_in(const Packed* sorted, int count, Packed p) {
    int low = 0;
    while (count > 0) {
        const int half = count / 2;
        if (sorted[low + half] < p) {
            low += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return low;
}

struct GlobalQueue {
    static constexpr int threads = kith::gpu::threads;
    static constexpr int buffer_size = threads * items;

    struct Storage {
        Packed buffer[buffer_size];
        int fill;
    };

    Storage& shared;
    int k;
    Packed *list, *next;  // k entries each; `list` holds `size`, sorted
    int size = 0;
    Packed kth = packed_end;

    __device__ __forceinline__ Packed radius() const { return kth; }

    __device__ __forceinline__ void merge_buffer() {
        const int count = shared.fill < buffer_size ? shared.fill : buffer_size;
        Packed x[items];
#pragma unroll
        for (int i = 0; i < items; ++i) {
            const int j = i * threads + static_cast<int>(threadIdx.x);
            x[i] = j < count ? shared.buffer[j] : packed_end;
        }
        bitonic::sort_block<threads>(x, shared.buffer);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < items; ++i) shared.buffer[threadIdx.x * items + i] = x[i];
        __syncthreads();
        for (int i = threadIdx.x; i < size; i += threads) {
            const Packed p = list[i];
            const int to = i + rank_in(shared.buffer, count, p);
            if (to < k) next[to] = p;
        }
        for (int i = threadIdx.x; i < count && i < k; i += threads) {
            const Packed p = shared.buffer[i];
            const int to = i + rank_in(list, size, p);
            if (to < k) next[to] = p;
        }
        Packed* const last = list;
        list = next;
        next = last;
        size = size + count < k ? size + count : k;
        if (threadIdx.x == 0) shared.fill = 0;
        __syncthreads();
        if (size == k) kth = list[k - 1];
    }
};

__global__ void __launch_bounds__(threads, 1)
    global_kernel(const float* values, std::int64_t stride, std::int64_t n, Packed* lists,
                  SelectOut out, unsigned long long* counts) {
    __shared__ GlobalQueue::Storage storage;
    const std::int64_t row = blockIdx.x;
    Packed* const list = lists + 2 * row * out.k;
    GlobalQueue queue{storage, static_cast<int>(out.k), list, list + out.k};
    if (threadIdx.x == 0) storage.fill = 0;
    __syncthreads();
    RowScan<GlobalQueue, reads, Prefetch::ahead>(queue,
                                                 {values + row * stride, n, 0, out.largest, counts})
        .run();
    for (int j = threadIdx.x; j < queue.k; j += threads) out.put(row, j, queue.list[j]);
}

}  // namespace

void bits_global(const SelectJob& job, int) {
    const Buffer<Packed> lists(2 * job.rows * job.k, job.stream);
    global_kernel<<<static_cast<unsigned>(job.rows), threads, 0, job.stream>>>(
        job.f32(), job.stride, job.n, lists.get(), out_of(job, SelectLayout::by_row), job.counts);
    check_launch("bits_global");
}

}  // namespace kith::gpu
