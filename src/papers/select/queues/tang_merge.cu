// The selectors of Tang 2015's merge queue. Mapping: queue_search.cuh.
#include "papers/select/queues/queue_search.cuh"

namespace kith::gpu {

void tang_merge(const SelectJob& job, int variant) {
    queue_search::run<MergeQueue<false>>(job, static_cast<QueueSearch>(variant));
}

}  // namespace kith::gpu
