// "block-merge-queue" (Hanak 2023, 3.6.2, after Tang 2015): one merge queue per row in shared
// memory, with buffered search.
//
// A grid has a block per row. The block scans its row (bits/scan_row.cuh) into a buffer; a full
// buffer is sorted, and its entries go to the queue one by one, the smallest first, until one is no
// smaller than the queue's largest.
//
//   the queue, ascending from the left: | level L | ... | level 3 | level 2 | level 1 |
//   of sizes                              C / 2           2 m       m         m         (m = 32, C
//   their sum)
//
// Every level is sorted, and the last entries of the levels, their heads, ascend from level L to
// level 1: the head of level 1 is the largest of all. A lane of the first warp holds an entry of
// level 1: an insertion drops the head and shifts what is larger. Once level 1's head is below
// level 2's, the whole block merges the two by a bitonic network, then level 2 with 3 where that
// broke their order, and so on.
//
// C is a power of two: C - k entries before every value fill it from the left and never leave, so
// that the head is the k-th smallest.
#include "gpu/primitives/block_sort.cuh"
#include "gpu/select/bits/scan_row.cuh"

namespace kith::gpu {

namespace {

constexpr int threads = 256, reads = 8, level_size = 32;

struct BlockMergeQueue {
    static constexpr int threads = kith::gpu::threads;
    static constexpr int buffer_size = 512;

    struct Storage {
        Packed buffer[buffer_size];
        int fill;   // entries that were offered to the buffer since the last merge; may exceed
                    // buffer_size
        int taken;  // entries of the sorted buffer that the queue has taken or refused
        bool broken;
    };

    Storage& shared;
    Packed* entries;
    int capacity, k;

    __device__ __forceinline__ Packed radius() const { return entries[capacity - 1]; }

    __device__ __forceinline__ void clear() {
        for (int i = threadIdx.x; i < capacity; i += threads)
            entries[i] = i < capacity - k ? 0 : packed_end;
        if (threadIdx.x == 0) shared.fill = 0;
        __syncthreads();
    }

    // Inserts entries [taken, count) of the sorted buffer until level 1's head is below level 2's;
    // the first warp.
    __device__ __forceinline__ void insert(int taken, int count) {
        const int lane = static_cast<int>(threadIdx.x);
        Packed* const level = entries + capacity - level_size;
        const Packed next_head = capacity > level_size ? level[-1] : 0;
        Packed mine = level[lane], head = __shfl_sync(whole_warp, mine, level_size - 1);
        bool broken = false;
        while (taken < count && !broken) {
            const Packed p = shared.buffer[taken];
            if (p >= head) {
                taken = count;
                break;
            }
            ++taken;
            const Packed below = __shfl_up_sync(whole_warp, mine, 1);
            if (mine > p) mine = lane == 0 || below < p ? p : below;
            head = __shfl_sync(whole_warp, mine, level_size - 1);
            broken = head < next_head;
        }
        level[lane] = mine;
        if (lane == 0) {
            shared.taken = taken;
            shared.broken = broken;
        }
    }

    // Merges levels until their heads ascend; whole block.
    __device__ __forceinline__ void restore() {
        for (int size = level_size; size < capacity;
             size *= 2) {  // of the level that the one at its right joins
            const int joining = size == level_size ? level_size : size / 2;
            Packed* const first = entries + capacity - 2 * size;
            if (first[size + joining - 1] >= first[size - 1]) return;
            bitonic::merge_in_shared(first, size, size + joining);
        }
    }

    // Whole block; a barrier must lie between the last push and this.
    __device__ __forceinline__ void merge_buffer() {
        const int count = min(shared.fill, buffer_size);
        int size = 2;
        while (size < count) size *= 2;
        for (int i = count + static_cast<int>(threadIdx.x); i < size; i += threads)
            shared.buffer[i] = packed_end;
        block_sort<threads>(shared.buffer, size);
        int taken = 0;
        for (bool broken = true; broken;) {
            if (threadIdx.x < 32) insert(taken, count);
            __syncthreads();
            taken = shared.taken;
            broken = shared.broken;
            if (broken) restore();
        }
        if (threadIdx.x == 0) shared.fill = 0;
        __syncthreads();
    }
};

__global__ void __launch_bounds__(threads)
    block_merge_queue_kernel(const float* values, std::int64_t stride, std::int64_t n, int capacity,
                             SelectOut out, unsigned long long* counts) {
    extern __shared__ Packed queue_entries[];
    __shared__ BlockMergeQueue::Storage storage;
    const std::int64_t row = blockIdx.x;
    BlockMergeQueue queue{storage, queue_entries, capacity, static_cast<int>(out.k)};
    queue.clear();
    RowScan<BlockMergeQueue, reads, Prefetch::ahead>(
        queue, {values + row * stride, n, 0, out.largest, counts})
        .run();
    block_sort<threads>(queue.entries, capacity);
    for (int j = threadIdx.x; j < queue.k; j += threads)
        out.put(row, j, queue.entries[capacity - queue.k + j]);
}

}  // namespace

void block_merge_queue(const SelectJob& job, int) {
    int capacity = level_size;
    while (capacity < job.k) capacity *= 2;
    block_merge_queue_kernel<<<static_cast<unsigned>(job.rows), threads,
                               static_cast<std::size_t>(capacity) * sizeof(Packed), job.stream>>>(
        job.f32(), job.stride, job.n, capacity, out_of(job, SelectLayout::by_row), job.counts);
    check_launch("block_merge_queue");
}

}  // namespace kith::gpu
