// A max-heap of packed entries in an array, of which one thread at a time takes hold: the step of
// heap sort.
#pragma once

#include "gpu/primitives/packed.cuh"
#include "gpu/primitives/tally.cuh"

namespace kith::gpu {

// x in place of the root of a heap of `size` nodes.
__device__ __forceinline__ void replace_root(Packed* heap, int size, Packed x, Tally& tally) {
    int node = 0;
    for (int child = 1; child < size; child = 2 * node + 1) {
        if (child + 1 < size) {
            tally.compared();
            if (heap[child] < heap[child + 1]) ++child;
        }
        tally.compared();
        if (heap[child] <= x) break;
        heap[node] = heap[child];
        tally.moved();
        node = child;
    }
    heap[node] = x;
    tally.moved();
}

}  // namespace kith::gpu
