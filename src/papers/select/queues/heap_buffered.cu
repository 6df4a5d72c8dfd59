// The selector "heap-buffered": one heap per row, which the threads of a block share (Kato 2009,
// VI, Fig. 8).
//
// A block owns a row and keeps a max-heap of its k smallest in shared memory. In a round the block
// reads `buffer` times as many adjacent values as it has threads, coalesced. A thread keeps those
// of its values that are before the heap's head in a buffer of registers; then the buffers are
// pushed, one thread at a time while the others wait: warp by warp between barriers, and lane by
// lane within a warp. A thread looks at the head again before each push. The paper says only
// "blocking other threads"; turns in place of a lock make every run take the same steps. Rounds
// without a candidate, nearly all of a long row's, cost one barrier.
//
// Ties: the heap holds 8 bytes an entry (value and index packed), as the paper's pairs do, and
// compares 64 bits.
#include "gpu/primitives/block.cuh"
#include "gpu/primitives/heap.cuh"
#include "gpu/primitives/registers.cuh"
#include "gpu/runtime/device_memory.h"
#include "gpu/select/sort_result.cuh"

namespace kith::gpu {

namespace {

constexpr int threads = 128, warps = threads / 32;
constexpr int buffer = 8;     // values that a thread reads and buffers in a round
constexpr int most_k = 8192;  // 64 KB of shared memory

// `entries`: rows x k for the sort, or null where the heap's order is as good as any.
__global__ void __launch_bounds__(threads)
    heap_buffered_kernel(const float* values, std::int64_t stride, std::int64_t n, bool largest,
                         int k, Packed* entries, SelectOut out) {
    extern __shared__ Packed heap[];
    // Bit w: warp w has candidates. A round uses one word while another is cleared for the next;
    // with a third, no warp clears what a slower one still reads.
    __shared__ unsigned turns[3];
    const std::int64_t row = blockIdx.x;
    const float* const from = values + row * stride;
    const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
    for (int p = thread; p < k; p += threads) heap[p] = packed_end;
    if (thread < 3) turns[thread] = 0;
    __syncthreads();
    float ahead[buffer];
    const auto read = [&](std::int64_t first) {
#pragma unroll
        for (int i = 0; i < buffer; ++i) {
            const std::int64_t c = first + i * threads + thread;
            ahead[i] = c < n ? __ldg(from + c) : 0.0f;
        }
    };
    read(0);
    int round = 0;
    Tally uncounted;  // Sismanis 2012 counts operations, Kato 2009 does not
    for (std::int64_t first = 0; first < n; first += threads * buffer) {
        const int next_round = round == 2 ? 0 : round + 1;
        Packed kept[buffer];
        const Packed head = heap[0];
        unsigned wanted = 0;
#pragma unroll
        for (int i = 0; i < buffer; ++i) {
            const std::int64_t c = first + i * threads + thread;
            kept[i] = c < n ? pack(ahead[i], static_cast<std::uint32_t>(c), largest) : packed_end;
            wanted |= kept[i] < head ? 1u << i : 0u;
        }
        read(first + threads * buffer);
        if (thread == 0) turns[next_round] = 0;
        unsigned lanes = __ballot_sync(whole_warp, wanted != 0);
        if (lane == 0 && lanes) atomicOr(&turns[round], 1u << warp);
        __syncthreads();
        const unsigned todo = turns[round];
        round = next_round;
        for (int turn = 0; turn < warps; ++turn) {
            if (!(todo >> turn & 1)) continue;
            if (turn == warp) {
                for (; lanes; lanes &= lanes - 1) {
                    if (lane == __ffs(static_cast<int>(lanes)) - 1) {
                        for (; wanted; wanted &= wanted - 1) {
                            const Packed x = entry_at(kept, __ffs(static_cast<int>(wanted)) - 1);
                            if (x < heap[0]) replace_root(heap, k, x, uncounted);
                        }
                    }
                    __syncwarp();
                }
            }
            __syncthreads();
        }
    }
    for (int p = thread; p < k; p += threads) {
        if (entries) entries[row * k + p] = heap[p];
        else out.put(row, p, heap[p]);
    }
}

}  // namespace

void heap_buffered(const SelectJob& job, int) {
    const SelectOut out = out_of(job, SelectLayout::by_row);
    const int k = static_cast<int>(job.k);
    Buffer<Packed> entries(job.sorted ? job.rows * job.k : 0, job.stream);
    check(cudaFuncSetAttribute(heap_buffered_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               most_k * static_cast<int>(sizeof(Packed))),
          "shared memory of heap_buffered_kernel");
    heap_buffered_kernel<<<static_cast<unsigned>(job.rows), threads,
                           static_cast<std::size_t>(k) * sizeof(Packed), job.stream>>>(
        job.f32(), job.stride, job.n, job.largest, k, entries.get(), out);
    check_launch("heap_buffered_kernel");
    if (job.sorted) sort_packed(entries.get(), nullptr, 0, job.rows, job.k, job.k, out, job.stream);
}

}  // namespace kith::gpu
