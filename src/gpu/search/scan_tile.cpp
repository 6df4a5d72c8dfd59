// The full scan of a tile of queries: canonical distance keys of some points at a time, selected.
#include <algorithm>

#include "gpu/metric/user.h"
#include "gpu/primitives/sort_rows.h"
#include "gpu/search/tile_search.h"
#include "gpu/select/streaming/threshold_select.h"

namespace kith::gpu {

TileResult scan_tile(const Chunk& chunk, const DeviceMetric& metric, const QueryTile& queries,
                     std::int64_t k, std::int64_t point_tile, cudaStream_t stream) {
    const std::int64_t q = queries.rows.rows.count, n = chunk.points.rows.count,
                       d = metric.params.d;
    const std::int64_t tile = std::min(point_tile, n);
    Buffer<double> query_values(q * d, stream), point_values(tile * d, stream);
    Buffer<std::uint64_t> keys(q * tile, stream);
    SelectState state(q, k, tile, 8, stream);
    if (metric.kernels)
        metric.kernels->convert(queries.rows, query_values.get(), metric.params, stream);
    else user_convert(queries.rows.rows, query_values.get(), d, stream);
    for (std::int64_t first = 0; first < n; first += tile) {
        const std::int64_t count = std::min(tile, n - first);
        const PreparedRows points = chunk.points.prepared(first, count);
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
            user_scan(scan, metric.spec, stream);
        }
        scan_keys(state, keys.get(), tile, count, first, stream);
    }
    finish(state, stream);
    TileResult result{Buffer<std::uint64_t>(q * k, stream), Buffer<std::uint32_t>(q * k, stream)};
    sort_rows({reinterpret_cast<const std::uint64_t*>(state.keys.get()), state.ids.get(),
               state.counts.get(), state.slices, q, state.stride(), std::min(k, n)},
              {result.keys.get(), result.ids.get(), k}, stream);
    return result;
}

}  // namespace kith::gpu
