// The selectors of Tang 2015 whose hierarchy holds the keys of the minima alone, 4 bytes an entry
// as the paper's; the mapping is in queue_search.cuh.
#include "papers/select/queues/queue_search.cuh"

namespace kith::gpu {

namespace {

using Aligned = MergeQueue<true>;
constexpr int group_bits = 2;

}  // namespace

void tang_heap_keys(const SelectJob& job, int) {
    queue_search::descend<HeapQueue, queue_search::Direct<HeapQueue>, MinimumKey>(job, group_bits);
}

// variant: 1 has sorted buffers.
void tang_merge_aligned_keys(const SelectJob& job, int variant) {
    using namespace queue_search;  // NOLINT(google-build-using-namespace)
    if (variant == 1) descend<Aligned, Buffered<Aligned, Flush::sort>, MinimumKey>(job, group_bits);
    else descend<Aligned, Direct<Aligned>, MinimumKey>(job, group_bits);
}

}  // namespace kith::gpu
