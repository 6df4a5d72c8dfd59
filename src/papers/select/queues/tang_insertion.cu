// The selectors of Tang 2015's insertion queue. Mapping: queue_search.cuh.
#include "papers/select/queues/queue_search.cuh"

namespace kith::gpu {

void tang_insertion(const SelectJob& job, int variant) {
    queue_search::run<InsertionQueue>(job, static_cast<QueueSearch>(variant));
}

}  // namespace kith::gpu
