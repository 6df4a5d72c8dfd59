// Candidates from the whole matrix of f32 distances, by a distance kernel and a selector, some
// queries at a time; or from a fused kernel (papers/gpu.h, list_candidates).

#include <algorithm>
#include <string_view>
#include <utility>

#include "gpu/primitives/block.cuh"
#include "gpu/primitives/rows.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/launch.h"
#include "gpu/runtime/memory/device_memory.h"
#include "gpu/select/selector.h"
#include "papers/distance/distance.h"
#include "papers/distance/expanded.h"
#include "papers/fused/fused.h"
#include "papers/gpu.h"

namespace kith::gpu {

namespace {

using papers::MatrixTile;

constexpr std::string_view garcia = "garcia";

// A selector's output for rows of values.
struct Selected {
    const float* values;
    const std::int64_t* positions;
    __device__ Candidate at(std::int64_t cell) const {
        return {values[cell], static_cast<std::uint32_t>(positions[cell])};
    }
};

// A fused kernel's output.
struct PackedLists {
    const Packed* entries;
    __device__ Candidate at(std::int64_t cell) const {
        const Packed p = entries[cell];
        return {exact::Order<float>::value(static_cast<std::uint32_t>(p >> 32)), index_of(p)};
    }
};

// A block of threads_of(listed) threads per query from `first` on; a query's entries are adjacent,
// in any order.
template <class Entries>
__global__ void list_kernel(Entries entries, std::int64_t first, std::int64_t listed,
                            std::int64_t n, CandidateLists lists) {
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

void list_fused(const MatrixTile& tile, const FusedKernel& kernel, const CandidateLists& lists) {
    const Buffer<Packed> found = fused_lists(kernel.name,
                                             {.step = tile.step,
                                              .exponent = tile.exponent,
                                              .queries = tile.queries,
                                              .points = tile.points,
                                              .half_norm = tile.half_norm,
                                              .width = tile.width,
                                              .q = tile.q,
                                              .n = tile.n,
                                              .capacity = fused_capacity(kernel, tile.wanted),
                                              .listed = lists.capacity,
                                              .stream = tile.stream},
                                             tile.plan.fused_lists);
    list_kernel<<<static_cast<unsigned>(lists.q), threads_of(lists.capacity), 0, tile.stream>>>(
        PackedLists{found.get()}, 0, lists.capacity, tile.n, lists);
    check_launch("list_candidates");
}

}  // namespace

}  // namespace kith::gpu

namespace kith {

std::int64_t papers::listed_points(const MatrixTile& tile) {
    const std::int64_t n = tile.n, wanted = tile.wanted;
    if (const gpu::FusedKernel* const fused = gpu::find_fused_kernel(tile.plan.distances))
        return gpu::fused_listed(*fused, n, wanted);
    const gpu::Selector* const found = gpu::find_selector(tile.plan.selector);
    const std::int64_t most = found && found->max_k > 0
                                  ? std::min(found->max_k, gpu::max_candidates)
                                  : gpu::max_candidates;
    return gpu::listed_points(n, wanted, most);
}

papers::ListBound papers::list_candidates(const MatrixTile& tile,
                                          const gpu::CandidateLists& lists) {
    using namespace gpu;
    if (const FusedKernel* const fused = find_fused_kernel(tile.plan.distances)) {
        list_fused(tile, *fused, lists);
        return {};
    }
    const DistanceKernel* const kernel = find_distance_kernel(tile.plan.distances);
    ExpandedTerms terms;
    if (kernel && kernel->expanded())
        terms = expanded_terms({.queries = tile.queries,
                                .points = tile.points,
                                .width = tile.width,
                                .q = tile.q,
                                .n = tile.n,
                                .half_norm = tile.half_norm,
                                .point_error = tile.point_error,
                                .query_error = tile.query_error,
                                .growth = tile.growth,
                                .unfit = tile.unfit},
                               tile.stream);
    // Garcia's kernel writes columns, as the paper does, for a selector that reads them.
    const Selector* const selector = find_selector(tile.plan.selector);
    const bool by_column =
        tile.plan.distances == garcia && selector && selector->layout == SelectLayout::by_column;
    const std::int64_t at_once = std::min(tile.plan.matrix_queries, tile.q), n = tile.n,
                       listed = lists.capacity;
    const Buffer<float> matrix(at_once * n, tile.stream), values(at_once * listed, tile.stream);
    const Buffer<std::int64_t> positions(at_once * listed, tile.stream);
    for (std::int64_t first = 0; first < tile.q; first += at_once) {
        const std::int64_t q = std::min(at_once, tile.q - first);
        distance_matrix(
            tile.plan.distances,
            {.step = tile.step,
             .exponent = tile.exponent,
             .queries = tile.queries,
             .points = tile.points,
             .half_norm = terms.half_norm.get() ? terms.half_norm.get() : tile.half_norm,
             .query_square = terms.query_square.get(),
             .query_size = tile.query_term,
             .width = tile.width,
             .first_query = first,
             .q = q,
             .n = n,
             .values = matrix.get(),
             .by_column = by_column,
             .stream = tile.stream});
        SelectJob job{.rows = q, .n = n, .k = listed, .sorted = false};
        job.ids = positions.get();
        job.out = values.get();
        job.stream = tile.stream;
        run_selector(tile.plan.selector,
                     {matrix.get(), q, by_column ? 1 : n, by_column ? q : 1, ElementType::f32},
                     job);
        list_kernel<<<static_cast<unsigned>(q), threads_of(listed), 0, tile.stream>>>(
            Selected{values.get(), positions.get()}, first, listed, n, lists);
        check_launch("list_candidates");
    }
    return {std::move(terms.point_error), std::move(terms.query_error)};
}

}  // namespace kith
