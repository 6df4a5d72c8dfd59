// The selectors of Tang 2015's buffered search by the size of a lane's buffer (Alg. 3, bsize), full
// and sorted; the mapping is in queue_search.cuh.
#include "papers/select/queues/queue_search.cuh"

namespace kith::gpu {

namespace {

template <class Queue>
void buffered(const SelectJob& job, int size) {
    using namespace queue_search;  // NOLINT(google-build-using-namespace)
    if (size == 8) scan<Queue, Buffered<Queue, Flush::sort, 8>>(job);
    else scan<Queue, Buffered<Queue, Flush::sort, 32>>(job);
}

}  // namespace

// variant: entries of a buffer.
void tang_insertion_buffers(const SelectJob& job, int variant) {
    buffered<InsertionQueue>(job, variant);
}
void tang_heap_buffers(const SelectJob& job, int variant) {
    buffered<HeapQueue>(job, variant);
}
void tang_merge_aligned_buffers(const SelectJob& job, int variant) {
    buffered<MergeQueue<true>>(job, variant);
}

}  // namespace kith::gpu
