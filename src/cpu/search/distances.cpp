// The matrix of all canonical distances (backend.h, distances): tiles of points against blocks of
// queries.
#include <algorithm>
#include <limits>

#include "cpu/backend.h"
#include "cpu/metric/distance_keys.h"
#include "cpu/points/points.h"
#include "exact/ceil_div.h"
#include "exact/report/watched.h"

namespace kith::cpu {

namespace {

// As in scan.cpp: a block of queries and a tile of points fit into the L2 cache.
constexpr std::int64_t block_bytes = 256 << 10;
constexpr std::int64_t max_queries = 64, max_points = 512;

template <class T>
void distances_of(const Points& points, const DistancesRequest& request) {
    const std::int64_t n = points.rows.rows, q = request.queries.rows, d = points.rows.cols;
    const std::int64_t rows = block_bytes / (8 * d);
    const std::int64_t queries = std::clamp<std::int64_t>(rows, 1, max_queries),
                       tile = std::clamp<std::int64_t>(rows / 8 * 8, 8, max_points);
    // A task is a block of queries against a range of the points. Ranges consist of whole tiles,
    // and there are enough tasks for every thread.
    const int threads = std::max(request.plan.threads, 1);
    const std::int64_t blocks = exact::ceil_div(q, queries), tiles = exact::ceil_div(n, tile);
    const std::int64_t ranges = std::min(tiles, exact::ceil_div(4 * threads, blocks));
    const std::int64_t range = exact::ceil_div(tiles, ranges) * tile;
    const ReportedDistance reported(points.metric);
    const Isa isa = isa_named(request.plan.isa);
    ProgressMeter& progress = request.progress;
    watched_tasks(
        threads, blocks * ranges, progress, "distances", [&](std::int64_t task, int worker) {
            const std::int64_t first = task / ranges * queries,
                               count = std::min(queries, q - first);
            const std::int64_t begin = task % ranges * range, end = std::min(begin + range, n);
            DistanceKeys distance_keys(points.metric, isa);
            RowBlock block(count, d), columns(tile, d);
            distance_keys.load(request.queries, first, count, block);
            std::vector<double> keys(static_cast<std::size_t>(tile));
            for (std::int64_t x = begin; x < end && !progress.cancelled(); x += tile) {
                const std::int64_t here = std::min(tile, end - x);
                distance_keys.load_points(points.rows, x, here, columns);
                for (std::int64_t i = 0; i < count && !progress.cancelled(); ++i) {
                    T* const row =
                        static_cast<T*>(request.out.data) + (first + i) * request.out.stride + x;
                    if (block.nan()[i]) {
                        std::fill_n(row, here, std::numeric_limits<T>::quiet_NaN());
                        continue;
                    }
                    distance_keys.compute(block, i, columns, here, keys.data());
                    for (std::int64_t j = 0; j < here; ++j)
                        row[j] = columns.nan()[j]
                                     ? std::numeric_limits<T>::quiet_NaN()
                                     : static_cast<T>(reported(keys[static_cast<std::size_t>(j)]));
                    if (worker == 0) progress.poll("distances");
                }
                progress.add(static_cast<double>(here * count));
            }
        });
}

}  // namespace

void distances(const Points& points, const DistancesRequest& request) {
    if (request.f64) distances_of<double>(points, request);
    else distances_of<float>(points, request);
}

}  // namespace kith::cpu
