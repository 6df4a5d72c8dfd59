// Truncated bubble sort (Sismanis 2012, section 2): n / k systolic priority queues of k cells,
// merged pairwise with the larger half eliminated. Mapping: truncated_chunks.cuh, a block per slice
// of a row.
//
// A systolic queue sorts its k cells in k beats; in a beat every second pair of neighbouring cells
// compares and swaps (odd-even transposition, the parallel form of the bubble's passes). A thread
// owns pairs 256 apart.
#include "papers/select/truncated/truncated_chunks.cuh"

namespace kith::gpu {

namespace {

struct SystolicQueues {
    static __device__ void sort(Packed*& now, Packed*&, int count, int length, Tally& tally) {
        Packed* const cells = now;
        for (int beat = 0; beat < length; ++beat) {
            for (int t = threadIdx.x; t < count / 2; t += chunk_threads) {
                const int i = 2 * t + beat % 2;
                if (i % length == length - 1) continue;  // the neighbour is another queue's
                const Packed a = cells[i], b = cells[i + 1];
                tally.compared();
                if (a <= b) continue;
                cells[i] = b;
                cells[i + 1] = a;
                tally.moved(2);
            }
            __syncthreads();
        }
    }
};

}  // namespace

void truncated_bubble(const SelectJob& job, int) {
    truncated_chunks<SystolicQueues>(job);
}

}  // namespace kith::gpu
