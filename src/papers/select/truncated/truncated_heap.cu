// Truncated heap sort (Sismanis 2012, section 2): subcorpora with a private max-heap of k nodes
// each, sorted at the end and merged pairwise. Mapping: truncated_warps.cuh, a warp per subcorpus;
// its first lane alone walks the heap.
#include "gpu/primitives/heap.cuh"
#include "papers/select/truncated/truncated_warps.cuh"

namespace kith::gpu {

namespace {

class MaxHeap {
public:
    __device__ MaxHeap(Packed* heap, int k) : heap_(heap), k_(k) {}

    __device__ Packed worst() const { return heap_[0]; }

    __device__ void insert(Packed p, Tally& tally) {
        __syncwarp();
        if (threadIdx.x == 0) replace_root(heap_, k_, p, tally);
        __syncwarp();
    }

    // The second half of heap sort: the root goes behind the heap, which shrinks.
    __device__ void sort(Tally& tally) {
        if (threadIdx.x != 0) return;
        for (int size = k_ - 1; size > 0; --size) {
            const Packed last = heap_[size];
            heap_[size] = heap_[0];
            tally.moved();
            replace_root(heap_, size, last, tally);
        }
    }

private:
    Packed* heap_;
    int k_;
};

}  // namespace

void truncated_heap(const SelectJob& job, int) {
    truncated_warps<MaxHeap>(job);
}

}  // namespace kith::gpu
