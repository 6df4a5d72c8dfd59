// The full scan (path "exact"): tiles of points against blocks of queries, all in canonical
// distances. Each block converts its tiles; a block and a tile fit into the L2 cache. A few queries
// are spread over ranges of the points, and the results are merged.
#include "cpu/search/scan/scan.h"

#include <algorithm>

#include "cpu/metric/distance_keys.h"
#include "cpu/primitives/top_k.h"
#include "cpu/search/scan/scan_tile.h"
#include "exact/report/watched.h"

namespace kith::cpu {

namespace {

// Bytes of the neighbours of all queries between ranges of the points. A single query may need
// more.
constexpr std::int64_t merged_bytes = 256 << 20;
// Polls after each query against a tile of this many values: a formula is interpreted, so that this
// may take long.
constexpr std::int64_t values_per_poll = 1 << 12;

struct TaskSchedule {
    std::int64_t queries, blocks;  // queries per block, number of blocks
    std::int64_t points;           // points per tile
    std::int64_t range, ranges;    // points per range, number of ranges
};

TaskSchedule make_schedule(std::int64_t n, std::int64_t q, std::int64_t d, std::int64_t k,
                           int threads) {
    const strategy::Tile tile = scan_tile(n, q, d, k, threads);
    TaskSchedule c;
    c.queries = tile.queries;
    c.points = tile.points;
    c.blocks = (q + c.queries - 1) / c.queries;
    // Enough tasks for every thread; a range consists of whole tiles.
    const std::int64_t wanted =
        c.blocks >= 2 * threads ? 1 : (scan_tasks_of_thread * threads + c.blocks - 1) / c.blocks;
    const std::int64_t tiles = (n + c.points - 1) / c.points;
    c.range = (tiles + wanted - 1) / wanted * c.points;
    c.ranges = (n + c.range - 1) / c.range;
    return c;
}

void scan_group(const Points& points, const MatrixView& queries, const std::int64_t* numbers,
                std::int64_t q, bool graph, Isa isa, int threads, ProgressMeter& progress,
                const Results& results) {
    const std::int64_t n = points.rows.rows, d = points.rows.cols, kept = std::min(results.k(), n);
    const TaskSchedule c = make_schedule(n, q, d, kept, threads);
    std::vector<std::vector<TopK>> partial(
        static_cast<std::size_t>(c.ranges > 1 ? c.blocks * c.ranges : 0));
    watched_tasks(
        threads, c.blocks * c.ranges, progress, "search", [&](std::int64_t task, int worker) {
            const std::int64_t first_query = task / c.ranges * c.queries;
            const std::int64_t here = std::min(c.queries, q - first_query);
            const std::int64_t begin = task % c.ranges * c.range,
                               end = std::min(begin + c.range, n);
            DistanceKeys distance_keys(points.metric, isa);
            RowBlock block(here, d), tile(c.points, d);
            distance_keys.load_numbered(queries, numbers + first_query, here, block);
            std::vector<TopK> best(static_cast<std::size_t>(here), TopK(kept));
            std::vector<double> out(static_cast<std::size_t>(c.points));
            for (std::int64_t first = begin; first < end && !progress.cancelled();
                 first += c.points) {
                const std::int64_t count = std::min(c.points, end - first);
                distance_keys.load_points(points.rows, first, count, tile);
                for (std::int64_t i = 0; i < here; ++i) {
                    if (block.nan()[i]) continue;
                    distance_keys.compute(block, i, tile, count, out.data());
                    TopK& top = best[static_cast<std::size_t>(i)];
                    for (std::int64_t j = 0; j < count; ++j) {
                        if (out[static_cast<std::size_t>(j)] > top.threshold() || tile.nan()[j])
                            continue;
                        if (graph && first + j == numbers[first_query + i]) continue;
                        top.push(out[static_cast<std::size_t>(j)], first + j);
                    }
                    if (worker == 0 && count * d >= values_per_poll) progress.poll("search");
                    if (progress.cancelled()) break;
                }
                progress.add(static_cast<double>(count * here));
                if (worker == 0) progress.poll("search");
            }
            if (progress.cancelled()) return;  // a row is written whole or not at all
            if (c.ranges > 1) {
                partial[static_cast<std::size_t>(task)] = std::move(best);
                return;
            }
            for (std::int64_t i = 0; i < here; ++i)
                results.put(numbers[first_query + i], best[static_cast<std::size_t>(i)]);
        });
    if (c.ranges == 1 || progress.cancelled()) return;
    watched_tasks(threads, c.blocks, progress, "search", [&](std::int64_t b) {
        std::vector<TopK>& best = partial[static_cast<std::size_t>(b * c.ranges)];
        for (std::size_t i = 0; i < best.size(); ++i) {
            for (std::int64_t r = 1; r < c.ranges; ++r)
                best[i].merge(partial[static_cast<std::size_t>(b * c.ranges + r)][i]);
            results.put(numbers[b * c.queries + static_cast<std::int64_t>(i)], best[i]);
        }
    });
}

}  // namespace

void scan(const Points& points, const MatrixView& queries, const std::int64_t* numbers,
          std::int64_t q, bool graph, Isa isa, int threads, ProgressMeter& progress,
          const Results& results) {
    // Bytes of the lists that all ranges of the points keep for one query.
    const std::int64_t n = points.rows.rows;
    const std::int64_t all =
        std::min(4 * threads * TopK::bytes(std::min(results.k(), n)), TopK::bytes(n));
    const std::int64_t group =
        q <= 2 * threads * max_scan_queries ? std::max<std::int64_t>(merged_bytes / all, 1) : q;
    for (std::int64_t first = 0; first < q && !progress.cancelled(); first += group)
        scan_group(points, queries, numbers + first, std::min(group, q - first), graph, isa,
                   threads, progress, results);
}

}  // namespace kith::cpu
