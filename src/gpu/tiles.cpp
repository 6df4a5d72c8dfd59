// Tiles of queries against tiles of points: scan_tile and filter_tile of search.h.
#include <algorithm>

#include "gpu/distance/user.h"
#include "gpu/filter/levels.h"
#include "gpu/filter/lists.h"
#include "gpu/results.h"
#include "gpu/search.h"
#include "gpu/select/selection.h"

namespace kith::gpu {

TileResult scan_tile(const Chunk& chunk, const DeviceMetric& metric, const QueryTile& queries, std::int64_t k,
                     std::int64_t point_tile, cudaStream_t stream) {
    const std::int64_t q = queries.rows.rows.count, n = chunk.points.rows.count, d = metric.params.d;
    const std::int64_t tile = std::min(point_tile, n);
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

FilterOutcome filter_tile(const Chunk& chunk, const DeviceMetric& metric, const QueryTile& queries, std::int64_t k,
                          const Plan& plan, const float* limits, cudaStream_t stream) {
    const std::int64_t q = queries.rows.rows.count, n = chunk.points.rows.count;
    const FilterForm& form = chunk.form;
    // A query that is among the points is among its own survivors.
    const std::int64_t wanted = std::min(n, k + (queries.self ? 1 : 0));
    const FilterLevels levels = filter_levels(n, q, wanted);
    const std::int64_t capacity = limits ? most_survivors : levels.capacity;
    Buffer<__half> vectors(q * form.width, stream);
    Buffer<float> e(q, stream), limit(q, stream);
    Buffer<std::uint8_t> unfit(q, stream), lost(q, stream), status(q, stream);
    Buffer<Survivor> survivors(q * capacity, stream);
    Buffer<std::uint32_t> ids(q * capacity, stream);
    Buffer<std::int32_t> counts(q, stream);
    metric.kernels->filter_queries(queries.rows, form, vectors.get(), e.get(), unfit.get(), metric.params, stream);
    const FilterLists lists{q,           capacity,   survivors.get(), counts.get(),
                            limit.get(), lost.get(), e.get(),         chunk.f.get()};
    FilterPass pass;
    pass.queries = vectors.get();
    pass.points = chunk.vectors.get();
    pass.h = chunk.h.get();
    pass.q = q;
    pass.n = n;
    pass.width = form.width;
    pass.limit = limit.get();
    pass.survivors = survivors.get();
    pass.counts = counts.get();
    pass.capacity = capacity;
    const FilterIsa isa = plan.isa == "sm_90a" ? FilterIsa::sm_90a : FilterIsa::sm_80;
    const auto through = [&](std::int64_t to) {
        pass.first += pass.count;
        pass.count = to - pass.first;
        if (pass.count > 0) filter_pass(pass, isa, stream);
    };
    if (limits) {
        check(cudaMemcpyAsync(limit.get(), limits, static_cast<std::size_t>(q) * sizeof(float), cudaMemcpyDefault,
                              stream),
              "cudaMemcpy");
        counts.clear_to(0);
        lost.clear_to(0);
    } else {
        pass.ld = (levels.sample[0] + filter_tile_points - 1) / filter_tile_points * filter_tile_points;
        Buffer<float> all(q * pass.ld, stream);
        pass.all = all.get();
        through(levels.sample[0]);
        pass.all = nullptr;
        start_lists(lists, all.get(), pass.ld, levels.sample[0], levels.rank[0], stream);
        if (levels.count == 2) {
            through(levels.sample[1]);
            tighten_lists(lists, levels.rank[1], stream);
        }
    }
    through(n);
    Buffer<unsigned long long> totals(2, stream);
    totals.clear_to(0);
    const CloseTask close{wanted, n, queries.self, unfit.get(), ids.get(), status.get(), totals.get()};
    close_lists(lists, form, close, stream);
    auto* const ranks = reinterpret_cast<std::uint64_t*>(survivors.get());  // the survivors have become ids
    metric.kernels->refine({queries.rows, chunk.points.prepared(), ids.get(), counts.get(), 1, capacity, ranks},
                           metric.params, stream);
    FilterOutcome out;
    out.result = {Buffer<std::uint64_t>(q * k, stream), Buffer<std::uint32_t>(q * k, stream)};
    sort_rows(ranks, ids.get(), counts.get(), 1, q, capacity, capacity, k, out.result.keys.get(), out.result.ids.get(),
              stream);
    unsigned long long sums[2] = {};
    check(cudaMemcpyAsync(sums, totals.get(), sizeof sums, cudaMemcpyDefault, stream), "cudaMemcpy");
    check(cudaStreamSynchronize(stream), "filter");
    out.candidates = static_cast<double>(sums[0]);
    if (sums[1] == 0) return out;
    std::vector<std::uint8_t> states(static_cast<std::size_t>(q));
    std::vector<float> found(states.size());
    check(cudaMemcpy(states.data(), status.get(), states.size(), cudaMemcpyDefault), "cudaMemcpy");
    check(cudaMemcpy(found.data(), limit.get(), found.size() * sizeof(float), cudaMemcpyDefault), "cudaMemcpy");
    for (std::size_t i = 0; i < states.size(); ++i) {
        if (states[i] == certified) continue;
        out.failed.push_back(static_cast<std::int64_t>(i));
        out.limits.push_back(found[i]);
    }
    return out;
}

}  // namespace kith::gpu
