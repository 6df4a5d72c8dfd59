// Lists from selected values, or from those of a fused kernel; see matrix_candidates.h. A thread owns an entry of a
// list.
#include "gpu/search/matrix_candidates.h"

#include <algorithm>

#include "gpu/fused/fused.h"
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

// Of `q` queries from the first: `listed` entries each, adjacent, in order.
template <class Entries>
__global__ void list_kernel(Entries entries, std::int64_t first, std::int64_t q, std::int64_t listed, std::int64_t n,
                            CandidateLists lists) {
    const std::int64_t cell = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (cell >= q * listed) return;
    const std::int64_t query = first + cell / listed, i = cell % listed;
    const Candidate entry = entries.at(cell);
    lists.candidates[query * lists.capacity + i] = entry;
    if (i + 1 < listed) return;
    const float infinity = __int_as_float(0x7f800000);
    lists.counts[query] = static_cast<std::int32_t>(listed);
    lists.overflowed[query] = 0;
    lists.threshold[query] = listed == n ? infinity : nextafterf(entry.a, -infinity);
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
    list_kernel<<<item_blocks(lists.q * lists.capacity), item_threads, 0, stream>>>(
        PackedLists{found.get()}, 0, lists.q, lists.capacity, task.n, lists);
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
        SelectJob job{.rows = q, .n = n, .k = listed};
        job.ids = positions.get();
        job.out = values.get();
        job.stream = stream;
        run_selector(task.selector, {matrix.get(), q, n, 1, ElementType::f32}, job);
        list_kernel<<<item_blocks(q * listed), item_threads, 0, stream>>>(Selected{values.get(), positions.get()},
                                                                          first, q, listed, n, lists);
        check_launch("list_candidates");
    }
}

}  // namespace kith::gpu
