// A search in two steps: a matrix of distance keys in binary64, then kith::select's driver on its
// rows. The driver orders by (value, index), that is by (distance key, id). Keys of excluded points
// are NaN, which comes last.
#include "cpu/search/scan/selected_scan.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "cpu/metric/distance_keys.h"
#include "cpu/primitives/buffer.h"
#include "cpu/select/driver.h"
#include "exact/ceil_div.h"
#include "exact/report/watched.h"

namespace kith::cpu {

namespace {

// As in scan.cpp: a block of queries and a tile of points fit into the L2 cache.
constexpr std::int64_t block_bytes = 256 << 10;
constexpr std::int64_t max_queries = 64, max_points = 512;
constexpr double none = std::numeric_limits<double>::quiet_NaN();

// Fills keys (q x n) with those of queries [first, first + q) and all points.
void fill_keys(const Points& points, const MatrixView& queries, std::int64_t first, std::int64_t q,
               bool graph, const Plan& plan, ProgressMeter& progress, double* keys) {
    const std::int64_t n = points.rows.rows, d = points.rows.cols, rows = block_bytes / (8 * d);
    const int threads = std::max(plan.threads, 1);
    const std::int64_t block = std::clamp<std::int64_t>(std::min(rows, exact::ceil_div(q, threads)),
                                                        1, max_queries),
                       tile = std::clamp<std::int64_t>(rows / 8 * 8, 8, max_points);
    const std::int64_t blocks = exact::ceil_div(q, block), tiles = exact::ceil_div(n, tile);
    const std::int64_t ranges = std::min(tiles, exact::ceil_div(4 * threads, blocks));
    const std::int64_t range = exact::ceil_div(tiles, ranges) * tile;
    const Isa isa = isa_named(plan.isa);
    watched_tasks(threads, blocks * ranges, progress, "search", [&](std::int64_t task, int worker) {
        const std::int64_t own = task / ranges * block, count = std::min(block, q - own);
        const std::int64_t begin = task % ranges * range, end = std::min(begin + range, n);
        DistanceKeys distance_keys(points.metric, isa);
        RowBlock mine(count, d), columns(tile, d);
        distance_keys.load(queries, first + own, count, mine);
        for (std::int64_t x = begin; x < end && !progress.cancelled(); x += tile) {
            const std::int64_t here = std::min(tile, end - x);
            distance_keys.load_points(points.rows, x, here, columns);
            for (std::int64_t i = 0; i < count && !progress.cancelled(); ++i) {
                double* const row = keys + (own + i) * n + x;
                if (mine.nan()[i]) {
                    std::fill_n(row, here, none);
                    continue;
                }
                distance_keys.compute(mine, i, columns, here, row);
                for (std::int64_t j = 0; j < here; ++j)
                    if (columns.nan()[j]) row[j] = none;
                const std::int64_t self = first + own + i - x;
                if (graph && self >= 0 && self < here) row[self] = none;
                if (worker == 0) progress.poll("search");
            }
            progress.add(static_cast<double>(here * count));
        }
    });
}

// The nearest of a row, in the form that Results::put() takes.
struct Nearest {
    std::vector<Neighbor> found;
    const std::vector<Neighbor>& finish() const { return found; }
};

}  // namespace

void selected_scan(const Points& points, const MatrixView& queries, bool graph, const Plan& plan,
                   ProgressMeter& progress, const Results& results) {
    const std::int64_t n = points.rows.rows, q = queries.rows, kept = std::min(results.k(), n);
    const std::int64_t at_once = std::clamp<std::int64_t>(plan.query_tile, 1, q);
    const Buffer<double> keys(at_once * n), values(at_once * kept);
    const Buffer<std::int64_t> ids(at_once * kept);
    // fill_keys() counts the pairs; selection only asks whether to go on.
    const std::function<bool(const Progress&)> ask = [&](const Progress&) {
        progress.poll("search");
        return !progress.cancelled();
    };
    for (std::int64_t first = 0; first < q; first += at_once) {
        const std::int64_t count = std::min(at_once, q - first);
        fill_keys(points, queries, first, count, graph, plan, progress, keys.data());
        if (progress.cancelled()) return;
        ProgressMeter selecting(ask, 0);
        select(view(keys.data(), count, n), Selection{.k = kept}, plan, selecting, ids.data(),
               values.data());
        if (selecting.cancelled() || progress.cancelled()) return;
        Nearest nearest;
        for (std::int64_t i = 0; i < count; ++i) {
            nearest.found.clear();
            for (std::int64_t j = i * kept; j < (i + 1) * kept && !std::isnan(values[j]); ++j)
                nearest.found.push_back({values[j], ids[j]});
            results.put(first + i, nearest);
        }
    }
}

}  // namespace kith::cpu
