// Tiles of queries against tiles of points: scan_tile and filter_tile of search.h.
#include <algorithm>

#include "gpu/distance/gemm.h"
#include "gpu/distance/user.h"
#include "gpu/results.h"
#include "gpu/search.h"
#include "gpu/select/selection.h"

namespace kith::gpu {

TileResult scan_tile(const Chunk& chunk, const DeviceMetric& metric, const QueryTile& queries, std::int64_t k,
                     const Plan& plan, cudaStream_t stream) {
    const std::int64_t q = queries.rows.rows.count, n = chunk.points.rows.count, d = metric.params.d;
    const std::int64_t tile = std::min(plan.point_tile, n);
    Buffer<double> query_values(q * d, stream), point_values(tile * d, stream),
        distances(metric.kernels ? 0 : q * tile, stream);
    Buffer<std::uint64_t> keys(q * tile, stream);
    SelectState state(q, k, tile, false, 8, stream);
    if (metric.kernels) metric.kernels->convert(queries.rows, query_values.get(), metric.params, stream);
    else user_convert(queries.rows.rows, query_values.get(), d, stream);
    for (std::int64_t first = 0; first < n; first += tile) {
        const std::int64_t count = std::min(tile, n - first);
        const PreparedRows points{slice(chunk.points.rows, first, count),
                                  chunk.points.aux.get() + first * metric::max_aux, chunk.points.nan.get() + first};
        ScanTile scan{query_values.get(),
                      point_values.get(),
                      queries.rows.aux,
                      points.aux,
                      queries.rows.nan,
                      points.nan,
                      q,
                      count,
                      first,
                      queries.self,
                      keys.get(),
                      tile};
        if (metric.kernels) {
            metric.kernels->convert(points, point_values.get(), metric.params, stream);
            metric.kernels->scan(scan, metric.params, stream);
        } else {
            user_convert(points.rows, point_values.get(), d, stream);
            user_scan(scan, metric.spec, distances.get(), stream);
        }
        scan_keys(state, keys.get(), tile, count, first, stream);
    }
    finish(state, stream);
    TileResult result{Buffer<std::uint64_t>(q * k, stream), Buffer<std::uint32_t>(q * k, stream)};
    sort_rows(reinterpret_cast<const std::uint64_t*>(state.keys.get()), state.ids.get(), state.counts.get(),
              state.slices, q, state.stride(), std::min(k, n), k, result.keys.get(), result.ids.get(), stream);
    return result;
}

TileResult filter_tile(const Chunk& chunk, const DeviceMetric& metric, const QueryTile& queries, std::int64_t k,
                       const Plan& plan, std::vector<std::int64_t>& failed, double& candidates, cudaStream_t stream) {
    const std::int64_t q = queries.rows.rows.count, n = chunk.points.rows.count;
    const FilterForm& form = chunk.form;
    const std::int64_t tile = std::min(plan.point_tile, n), ld = (tile + 3) / 4 * 4;
    Buffer<float> vectors(q * form.width, stream), e(q, stream), products(q * ld, stream);
    Buffer<std::uint8_t> unfit(q, stream);
    metric.kernels->filter_queries(queries.rows, form, vectors.get(), e.get(), unfit.get(), metric.params, stream);
    SelectState state(q, k, tile, true, 4, stream);
    for (std::int64_t first = 0; first < n; first += tile) {
        const std::int64_t count = std::min(tile, n - first);
        multiply(vectors.get(), q, chunk.vectors.get() + first * form.width, count, form.width, products.get(), ld,
                 form.tf32, stream);
        scan_bounded(state, products.get(), ld, count, first, e.get(), chunk.f.get(), queries.self, stream);
    }
    finish(state, stream);
    const std::int64_t stride = state.stride();
    Buffer<std::uint64_t> ranks(q * stride, stream);
    const RefineTask refine{
        queries.rows, chunk.points.prepared(), state.ids.get(), state.counts.get(), state.slices, stride, ranks.get()};
    metric.kernels->refine(refine, metric.params, stream);
    TileResult result{Buffer<std::uint64_t>(q * k, stream), Buffer<std::uint32_t>(q * k, stream)};
    sort_rows(ranks.get(), state.ids.get(), state.counts.get(), state.slices, q, stride, state.capacity, k,
              result.keys.get(), result.ids.get(), stream);
    Buffer<unsigned long long> sum(1, stream);
    sum.clear_to(0);
    add_counts(state.counts.get(), state.slices, q, sum.get(), stream);
    std::vector<std::uint8_t> overflowed(static_cast<std::size_t>(q * state.slices)),
        unfit_host(static_cast<std::size_t>(q));
    unsigned long long refined = 0;
    check(cudaMemcpyAsync(overflowed.data(), state.failed.get(), overflowed.size(), cudaMemcpyDefault, stream),
          "cudaMemcpy");
    check(cudaMemcpyAsync(unfit_host.data(), unfit.get(), unfit_host.size(), cudaMemcpyDefault, stream), "cudaMemcpy");
    check(cudaMemcpyAsync(&refined, sum.get(), sizeof refined, cudaMemcpyDefault, stream), "cudaMemcpy");
    check(cudaStreamSynchronize(stream), "filter");
    candidates += static_cast<double>(refined);
    for (std::int64_t i = 0; i < q; ++i)
        if (overflowed[static_cast<std::size_t>(i * state.slices)] || unfit_host[static_cast<std::size_t>(i)])
            failed.push_back(i);
    return result;
}

}  // namespace kith::gpu
