// The selectors of Tang 2015's merge queues by the size of their first two levels (III.C: m is any
// power of two; IV: 8 is the fastest there); the mapping is in queue_search.cuh.
#include "papers/select/queues/queue_search.cuh"

namespace kith::gpu {

namespace {

template <class Queue>
void plain(const SelectJob& job) {
    queue_search::scan<Queue, queue_search::Direct<Queue>>(job);
}

}  // namespace

// variant: m.
void tang_merge_levels(const SelectJob& job, int variant) {
    if (variant == 4) plain<MergeQueue<false, 4>>(job);
    else plain<MergeQueue<false, 16>>(job);
}

void tang_merge_aligned_levels(const SelectJob& job, int variant) {
    if (variant == 4) plain<MergeQueue<true, 4>>(job);
    else if (variant == 16) plain<MergeQueue<true, 16>>(job);
    else plain<MergeQueue<true, 32>>(job);
}

}  // namespace kith::gpu
