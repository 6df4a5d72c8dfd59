// The canonical distance of every pair of some queries and the points of a chunk. Few queries are
// compared with the points' own rows; of more, coordinates are converted to binary64 first, and
// tiles of pairs computed.
#pragma once

#include <algorithm>

#include "gpu/metric/user.h"
#include "gpu/points/points.h"
#include "gpu/search/tuning.h"

namespace kith::gpu {

// True if a scan of `q` queries reads the points' own rows.
inline bool scans_rows(const DeviceMetric& metric, std::int64_t q) {
    return metric.kernels && !metric.kernels->traits.whole_vector && q <= tuning::row_scan_queries;
}

// The points that a scan takes at a time, where a tile of `tile` points has room for values in
// binary64: own rows need none, which leaves it to the keys.
inline std::int64_t points_at_a_time(const DeviceMetric& metric, std::int64_t q, std::int64_t n,
                                     std::int64_t tile) {
    constexpr std::int64_t most = std::int64_t{1} << 30;
    if (scans_rows(metric, q)) tile = std::min(most, tile + tile / q * metric.params.d);
    return std::min(tile, n);
}

// Enqueues, for one tile of `tile` points after the other, their distance keys to the queries, then
// calls use(keys, first, count). The keys of points [first, first + count) of the chunk are `tile`
// apart for each query, on the device until the next call. `self`: the id that each query leaves
// out, or null. Values in binary64 and keys take q d, tile d and q tile numbers.
template <class Use>
void scan_keys_of(const Chunk& chunk, const DeviceMetric& metric, const PreparedRows& queries,
                  const std::int64_t* self, std::int64_t tile, cudaStream_t stream, Use use) {
    const std::int64_t q = queries.rows.count, n = chunk.points.rows.count, d = metric.params.d;
    if (scans_rows(metric, q)) {
        const Buffer<std::uint64_t> keys(q * tile, stream);
        for (std::int64_t first = 0; first < n; first += tile) {
            const std::int64_t count = std::min(tile, n - first);
            RefineTask scan{.queries = queries,
                            .points = chunk.points.prepared(first, count),
                            .capacity = tile,
                            .keys = keys.get(),
                            .all = count,
                            .first_point = first,
                            .self = self};
            metric.kernels->refine(scan, metric.params, stream);
            use(keys.get(), first, count);
        }
        return;
    }
    const Buffer<double> query_values(q * d, stream), point_values(tile * d, stream);
    const Buffer<std::uint64_t> keys(q * tile, stream);
    const auto convert = [&](const PreparedRows& rows, double* values) {
        if (metric.kernels) metric.kernels->convert(rows, values, metric.params, stream);
        else user_convert(rows.rows, values, d, stream);
    };
    convert(queries, query_values.get());
    for (std::int64_t first = 0; first < n; first += tile) {
        const std::int64_t count = std::min(tile, n - first);
        const PreparedRows points = chunk.points.prepared(first, count);
        convert(points, point_values.get());
        const ScanTile scan{query_values.get(),
                            point_values.get(),
                            queries.aux,
                            points.aux,
                            queries.nan,
                            points.nan,
                            q,
                            count,
                            first,
                            self,
                            keys.get(),
                            tile};
        if (metric.kernels) metric.kernels->scan(scan, metric.params, stream);
        else user_scan(scan, metric.spec, stream);
        use(keys.get(), first, count);
    }
}

}  // namespace kith::gpu
