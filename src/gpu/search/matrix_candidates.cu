// Lists from selected values; see matrix_candidates.h. A thread owns an entry of a list.
#include "gpu/search/matrix_candidates.h"

#include <algorithm>

#include "gpu/primitives/rows.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/device_memory.h"
#include "gpu/runtime/launch.h"
#include "gpu/select/selector.h"

namespace kith::gpu {

namespace {

__global__ void list_kernel(const float* values, const std::int64_t* positions, std::int64_t first, std::int64_t q,
                            std::int64_t listed, std::int64_t n, CandidateLists lists) {
    const std::int64_t cell = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (cell >= q * listed) return;
    const std::int64_t query = first + cell / listed, i = cell % listed;
    lists.candidates[query * lists.capacity + i] = {values[cell], static_cast<std::uint32_t>(positions[cell])};
    if (i + 1 < listed) return;
    const float infinity = __int_as_float(0x7f800000);
    lists.counts[query] = static_cast<std::int32_t>(listed);
    lists.overflowed[query] = 0;
    lists.threshold[query] = listed == n ? infinity : nextafterf(values[cell], -infinity);
}

}  // namespace

std::int64_t listed_of(std::string_view selector, std::int64_t n, std::int64_t wanted) {
    const Selector* const found = find_selector(selector);
    const std::int64_t most = found && found->max_k > 0 ? std::min(found->max_k, max_candidates) : max_candidates;
    return listed_points(n, wanted, most);
}

void list_candidates(const MatrixCandidates& task, const CandidateLists& lists, cudaStream_t stream) {
    const std::int64_t at_once = std::min(task.at_once, lists.q), n = task.n, listed = lists.capacity;
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
        list_kernel<<<item_blocks(q * listed), item_threads, 0, stream>>>(values.get(), positions.get(), first, q,
                                                                          listed, n, lists);
        check_launch("list_candidates");
    }
}

}  // namespace kith::gpu
