// Lists from selected values, or from those of a fused kernel; see matrix_candidates.h.
#include "gpu/search/matrix_candidates.h"

#include <algorithm>

#include "gpu/fused/fused.h"
#include "gpu/primitives/block.cuh"
#include "gpu/primitives/rows.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/device_memory.h"
#include "gpu/runtime/launch.h"
#include "gpu/select/selector.h"

namespace kith::gpu {

namespace {

// What a selector leaves of rows of values.
struct Selected {
    const float* values;
    const std::int64_t* positions;
    __device__ Candidate at(std::int64_t cell) const {
        return {values[cell], static_cast<std::uint32_t>(positions[cell])};
    }
};

// What a fused kernel leaves.
struct PackedLists {
    const Packed* entries;
    __device__ Candidate at(std::int64_t cell) const {
        const Packed p = entries[cell];
        return {exact::Order<float>::value(static_cast<std::uint32_t>(p >> 32)), index_of(p)};
    }
};

// A block per query from the first, of threads_of(listed): its entries are adjacent, in any order.
template <class Entries>
__global__ void list_kernel(Entries entries, std::int64_t first, std::int64_t listed, std::int64_t n,
                            CandidateLists lists) {
    using Order = exact::Order<float>;
    __shared__ Order::Key largest;
    if (threadIdx.x == 0) largest = 0;
    __syncthreads();
    const std::int64_t query = first + blockIdx.x, cell = blockIdx.x * listed;
    Candidate* const list = lists.candidates + query * lists.capacity;
    Order::Key mine = 0;
    for (std::int64_t i = threadIdx.x; i < listed; i += blockDim.x) {
        const Candidate entry = entries.at(cell + i);
        list[i] = entry;
        mine = max(mine, Order::key(entry.a));
    }
    mine = __reduce_max_sync(whole_warp, mine);
    if (threadIdx.x % 32 == 0) atomicMax(&largest, mine);
    __syncthreads();
    if (threadIdx.x > 0) return;
    const float infinity = __int_as_float(0x7f800000);
    lists.counts[query] = static_cast<std::int32_t>(listed);
    lists.overflowed[query] = 0;
    lists.threshold[query] = listed == n ? infinity : nextafterf(Order::value(largest), -infinity);
}
unsigned threads_of(std::int64_t listed) {
    return static_cast<unsigned>(std::min<std::int64_t>((listed + 31) / 32 * 32, item_threads));
}

void list_fused(const MatrixCandidates& task, const FusedKernel& kernel, const CandidateLists& lists,
                cudaStream_t stream) {
    const Buffer<Packed> found = fused_lists(kernel.name,
                                             {.step = task.step,
                                              .exponent = task.exponent,
                                              .queries = task.queries,
                                              .points = task.points,
                                              .half_norm = task.half_norm,
                                              .width = task.width,
                                              .q = lists.q,
                                              .n = task.n,
                                              .capacity = fused_capacity(kernel, task.wanted),
                                              .listed = lists.capacity,
                                              .stream = stream},
                                             task.fused_lists);
    list_kernel<<<static_cast<unsigned>(lists.q), threads_of(lists.capacity), 0, stream>>>(
        PackedLists{found.get()}, 0, lists.capacity, task.n, lists);
    check_launch("list_candidates");
}

}  // namespace

std::int64_t listed_of(const MatrixCandidates& task) {
    const std::int64_t n = task.n, wanted = task.wanted;
    if (const FusedKernel* const fused = find_fused_kernel(task.kernel)) return fused_listed(*fused, n, wanted);
    const Selector* const found = find_selector(task.selector);
    const std::int64_t most = found && found->max_k > 0 ? std::min(found->max_k, max_candidates) : max_candidates;
    return listed_points(n, wanted, most);
}

void list_candidates(const MatrixCandidates& task, const CandidateLists& lists, cudaStream_t stream) {
    if (const FusedKernel* const fused = find_fused_kernel(task.kernel)) return list_fused(task, *fused, lists, stream);
    const std::int64_t at_once = std::min(task.matrix_queries, lists.q), n = task.n, listed = lists.capacity;
    const Buffer<float> matrix(at_once * n, stream), values(at_once * listed, stream);
    const Buffer<std::int64_t> positions(at_once * listed, stream);
    for (std::int64_t first = 0; first < lists.q; first += at_once) {
        const std::int64_t q = std::min(at_once, lists.q - first);
        distance_matrix(task.kernel, {.step = task.step,
                                      .exponent = task.exponent,
                                      .queries = task.queries,
                                      .points = task.points,
                                      .half_norm = task.half_norm,
                                      .query_square = task.query_square,
                                      .query_size = task.query_size,
                                      .width = task.width,
                                      .first_query = first,
                                      .q = q,
                                      .n = n,
                                      .values = matrix.get(),
                                      .stream = stream});
        SelectJob job{.rows = q, .n = n, .k = listed, .sorted = false};
        job.ids = positions.get();
        job.out = values.get();
        job.stream = stream;
        run_selector(task.selector, {matrix.get(), q, n, 1, ElementType::f32}, job);
        list_kernel<<<static_cast<unsigned>(q), threads_of(listed), 0, stream>>>(
            Selected{values.get(), positions.get()}, first, listed, n, lists);
        check_launch("list_candidates");
    }
}

}  // namespace kith::gpu
