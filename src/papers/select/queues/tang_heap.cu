// The selectors of Tang 2015's heap queue. Mapping: queue_search.cuh.
#include "papers/select/queues/queue_search.cuh"

namespace kith::gpu {

void tang_heap(const SelectJob& job, int variant) {
    queue_search::run<HeapQueue>(job, static_cast<QueueSearch>(variant));
}

}  // namespace kith::gpu
