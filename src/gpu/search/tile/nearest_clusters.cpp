// See nearest_clusters.h.
#include "gpu/search/tile/nearest_clusters.h"

#include <algorithm>

#include "gpu/filter/lists/ball_thresholds.h"
#include "gpu/primitives/sort/sort_rows.h"
#include "gpu/refine/cluster_keys.h"
#include "gpu/search/passes/clustered_pass.h"
#include "gpu/search/tile/queries_left.h"

namespace kith::gpu {

bool answers_in_clusters(const Clusters& clusters, std::int64_t n, std::int64_t q, std::int64_t k,
                         std::int64_t capacity) {
    return clusters.rows.size() > 0 && q > listed_queries && 2 * k * clusters.view.count <= n &&
           cluster_keys_kept(k, n / clusters.view.count) <= std::max(k, capacity);
}

ClusterAnswers answer_in_clusters(const Chunk& chunk, const Clusters& clusters,
                                  const DeviceMetric& metric, const QueryTile& queries,
                                  std::int64_t k, const Plan& plan, cudaStream_t stream) {
    const ClusterView& view = clusters.view;
    const FilterForm& form = chunk.filter.form;
    const FilterIsa isa = isa_of(plan);
    const std::int64_t q = queries.rows.rows.count,
                       capacity = std::min(cluster_keys_capacity(k, clusters.largest),
                                           std::max(k, plan.candidate_capacity));
    const Buffer<char> vectors(vector_bytes(form, q), stream);
    const Buffer<float> error(2 * q, stream);
    const Buffer<std::uint8_t> flags(
        3 * q, stream);  // fitness, state of thresholds, whether others are reached
    std::uint8_t *const unfit = flags.get(), *const state = unfit + q, *const reached = state + q;
    metric.kernels->filter_queries(queries.rows, form, vectors.get(), error.get(), unfit,
                                   metric.params, stream);
    const Buffer<std::uint32_t> own(q, stream);
    const std::int64_t ld = whole_tiles(view.count);
    with_centre_values(view, vectors.get(), q, isa, stream,
                       [&](const float* values, std::int64_t first, std::int64_t count) {
                           nearest_centres(values, ld, count, view.count, own.get() + first,
                                           nullptr, stream);
                       });
    ClusterAnswers out{{Buffer<std::uint64_t>(q * k, stream), Buffer<std::uint32_t>(q * k, stream)},
                       Buffer<std::int64_t>(q, stream),
                       {}};
    Buffer<unsigned long long> totals(2, stream);
    totals.clear_to(0);
    {
        const Buffer<std::uint64_t> keys(q * capacity, stream);
        const Buffer<std::uint32_t> ids(q * capacity, stream);
        const Buffer<std::int32_t> counts(q, stream);
        cluster_keys({.queries = queries.rows,
                      .points = chunk.points.prepared(),
                      .self = queries.self,
                      .own = own.get(),
                      .rows = clusters.rows.get(),
                      .begin = clusters.row_begin.get(),
                      .clusters = view.count,
                      .d = metric.params.d,
                      .k = k,
                      .keys = keys.get(),
                      .ids = ids.get(),
                      .counts = counts.get(),
                      .capacity = capacity,
                      .pairs = totals.get()},
                     stream);
        sort_rows({keys.get(), ids.get(), counts.get(), 1, q, capacity, capacity},
                  {out.result.keys.get(), out.result.ids.get(), k}, stream);
    }
    // No point that is as near as the k-th has a value above the threshold that follows from its
    // distance.
    const Buffer<double> last(q, stream);
    const Buffer<float> threshold(q, stream);
    last_keys(out.result.keys.get(), q, k, last.get(), stream);
    ball_thresholds(metric.kernels, queries.rows, form, error.get(), unfit,
                    {last.get(), last.get()}, metric.params, {threshold.get(), nullptr, state},
                    stream);
    with_centre_values(view, vectors.get(), q, isa, stream,
                       [&](const float* values, std::int64_t first, std::int64_t count) {
                           other_clusters(view,
                                          {.vectors = vectors.get() + vector_bytes(form, first),
                                           .threshold = threshold.get() + first,
                                           .values = values,
                                           .q = count,
                                           .ld = ld},
                                          clusters.row_begin.get(), own.get() + first,
                                          reached + first, stream);
                       });
    list_left(state, reached, q, out.left.get(), totals.get() + 1, stream);
    out.totals.fetch(totals.get(), 2, stream);
    return out;
}

}  // namespace kith::gpu
