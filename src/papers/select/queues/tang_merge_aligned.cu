// The selectors of Tang 2015's aligned merge queue. Mapping: queue_search.cuh.
#include "papers/select/queues/queue_search.cuh"

namespace kith::gpu {

void tang_merge_aligned(const SelectJob& job, int variant) {
    queue_search::run<MergeQueue<true>>(job, static_cast<QueueSearch>(variant));
}

}  // namespace kith::gpu
