// Filter and refine. Two forms of the filter share everything but the loop that evaluates it: packed panels against
// tiles of queries, and for a few queries a single pass over the caller's own rows.
#include "cpu/filter_search.h"

#include <omp.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "cpu/filter.h"
#include "cpu/parallel.h"
#include "cpu/row_filter.h"
#include "cpu/scan.h"
#include "cpu/shortlist.h"

namespace kith::cpu {

namespace {

// Packed queries of a block: with a panel beside them they fit into the second-level cache.
constexpr std::int64_t block_bytes = 384 << 10;
constexpr std::int64_t max_block_tiles = 16;
// Groups of 32 points between two looks at the progress.
constexpr std::int64_t groups_per_report = 256;

// Panels against packed queries.
class PanelLoop {
public:
    PanelLoop(const Search& s, const Filter& filter, Shortlist& list, std::int64_t count)
        : filter_(filter),
          list_(list),
          count_(count),
          d_(s.points.rows.cols),
          tiles_(tile_kernels(s.isa)),
          width_(tiles_.queries[static_cast<int>(filter.step())]),
          packed_(count * d_) {
        std::vector<float> form(static_cast<std::size_t>(d_));
        for (std::int64_t i = 0; i < count; ++i) {
            list.add_query(filter.query(list.rows(), i, tiles_, form.data()));
            const std::int64_t tile = i / width_ * width_, here = std::min(width_, count - tile);
            float* out = packed_.data() + tile * d_ + (i - tile);
            const bool used = list.filtered(i);
            for (std::int64_t j = 0; j < d_; ++j) out[j * here] = used ? form[static_cast<std::size_t>(j)] : 0.0f;
        }
    }

    // Hostile orders (each point nearer than the last) are broken by a stride through the panels; few queries stream
    // them in order instead, as memory likes it.
    std::int64_t stride(std::int64_t panels) const {
        if (count_ <= 4 || panels <= 8) return 1;
        auto stride = static_cast<std::int64_t>(static_cast<double>(panels) * 0.618);
        while (std::gcd(stride, panels) != 1) ++stride;
        return stride;
    }

    void group(std::int64_t p) {
        const float* panel = filter_.panel(p);
        const Tile* tile = tiles_.tile[static_cast<int>(filter_.step())];
        std::uint32_t hits[max_tile_queries];
        alignas(64) float values[max_tile_queries * panel_points];
        for (std::int64_t first = 0; first < count_; first += width_) {
            const std::int64_t here = std::min(width_, count_ - first);
            if (!tile[here](panel, d_, packed_.data() + first * d_, list_.thresholds() + first, hits, values)) continue;
            for (std::int64_t i = 0; i < here; ++i) {
                if (hits[i]) offer(first + i, p, panel, hits[i], values + i * panel_points);
            }
        }
    }

private:
    void offer(std::int64_t i, std::int64_t p, const float* panel, std::uint32_t hits, const float* values) {
        for (; hits; hits &= hits - 1) {
            const int lane = std::countr_zero(hits);
            // h = +inf: no point, or one with a NaN.
            if (panel[lane] == std::numeric_limits<float>::infinity()) continue;
            list_.offer(i, values[lane], panel[panel_points + lane], p * panel_points + lane);
        }
        list_.settle(i);
    }

    const Filter& filter_;
    Shortlist& list_;
    std::int64_t count_, d_;
    const TileKernels& tiles_;
    std::int64_t width_;
    Buffer<float> packed_;
};

// How the pairs are cut into tasks.
struct Cut {
    std::int64_t block, blocks;  // queries per block, blocks
    std::int64_t groups;         // groups of 32 points
    std::int64_t ranges;         // ranges of groups, for few blocks
};

Cut cut(std::int64_t n, std::int64_t q, std::int64_t block, int threads) {
    Cut c;
    c.block = std::clamp<std::int64_t>((q + threads - 1) / threads, 1, block);
    c.blocks = (q + c.block - 1) / c.block;
    c.groups = (n + panel_points - 1) / panel_points;
    c.ranges = std::min(c.blocks >= 4 * threads ? 1 : (2 * threads + c.blocks - 1) / c.blocks, c.groups);
    return c;
}

// `make_loop(shortlist, count)` prepares a block's queries and evaluates groups for them.
template <class MakeLoop>
void run(const Search& s, const Cut& c, int threads, std::int64_t k, ProgressMeter& progress, std::int64_t* ids,
         double* ranks, Report& report, const MakeLoop& make_loop) {
    const std::int64_t n = s.points.rows.rows, q = s.queries.rows;
    std::vector<std::vector<TopK>> partial(static_cast<std::size_t>(c.ranges > 1 ? c.blocks * c.ranges : 0));
    std::vector<char> left(static_cast<std::size_t>(q), 0);
    std::vector<Counts> counts(static_cast<std::size_t>(c.blocks * c.ranges));
    parallel_tasks(threads, c.blocks * c.ranges, [&](std::int64_t task) {
        if (progress.cancelled()) return;
        const bool caller = omp_get_thread_num() == 0;
        const std::int64_t first = task / c.ranges * c.block, here = std::min(c.block, q - first);
        const std::int64_t range = task % c.ranges;
        const std::int64_t begin = range * c.groups / c.ranges, groups = (range + 1) * c.groups / c.ranges - begin;
        Shortlist list(s, first, here);
        auto loop = make_loop(list, here);
        const std::int64_t stride = loop.stride(groups);
        double unreported = 0;
        for (std::int64_t g = 0, at = 0; g < groups; ++g) {
            loop.group(begin + at);
            const std::int64_t count = std::min<std::int64_t>(panel_points, n - (begin + at) * panel_points);
            unreported += static_cast<double>(count * here);
            at += stride;
            if (at >= groups) at -= groups;
            if (g % groups_per_report != 0 && g + 1 < groups) continue;
            progress.add(unreported);
            unreported = 0;
            if (caller) progress.poll("search");
            if (progress.cancelled()) return;
        }
        list.finish();
        counts[static_cast<std::size_t>(task)] = list.counts();
        for (std::int64_t i = 0; i < here; ++i) {
            if (range == 0 && !list.filtered(i) && !list.has_nan(i)) left[static_cast<std::size_t>(first + i)] = 1;
            if (c.ranges > 1) partial[static_cast<std::size_t>(task)].push_back(std::move(list.best(i)));
            else list.best(i).finish(ids + (first + i) * k, ranks + (first + i) * k, k);
        }
    });
    if (progress.cancelled()) return;
    for (std::int64_t i = 0; i < q && c.ranges > 1; ++i) {
        const auto part = [&](std::int64_t range) -> TopK& {
            return partial[static_cast<std::size_t>(i / c.block * c.ranges + range)]
                          [static_cast<std::size_t>(i % c.block)];
        };
        for (std::int64_t r = 1; r < c.ranges; ++r) part(0).merge(part(r));
        part(0).finish(ids + i * k, ranks + i * k, k);
    }
    std::int64_t retried = 0, scanned = 0;
    for (const Counts& count : counts) {
        retried += count.retried;
        report.candidates += count.candidates;
    }
    for (std::int64_t i = 0; i < q; ++i) {
        if (!left[static_cast<std::size_t>(i)]) continue;
        // The filter has counted these pairs already.
        progress.add(-static_cast<double>(n));
        scan(s.points, s.queries, i, 1, k, s.graph, s.isa, threads, progress, ids + i * k, ranks + i * k);
        ++scanned;
        report.candidates += static_cast<double>(n);
    }
    // A query cut into ranges counts once.
    retried = std::min(retried, q - scanned);
    report.scanned += scanned;
    report.retried += retried;
    report.certified += q - scanned - retried;
}

}  // namespace

bool filter_search(const Points& points, const MatrixView& queries, std::int64_t k, bool graph, Isa isa,
                   const Plan& plan, ProgressMeter& progress, std::int64_t* ids, double* ranks, Report& report) {
    const std::int64_t n = points.rows.rows, q = queries.rows, d = points.rows.cols;
    const int threads = std::max(plan.threads, 1);
    const Search s{points, queries, std::min(k, n), graph, isa};
    if (q <= max_row_queries && !points.packed() && row_filter_serves(points, queries)) {
        run(s, cut(n, q, max_row_queries, threads), threads, k, progress, ids, ranks, report,
            [&](Shortlist& list, std::int64_t count) { return RowFilter(s, list, count); });
        return true;
    }
    const Filter* filter = points.filter(isa, threads);
    if (!filter) return false;
    const std::int64_t width = tile_kernels(isa).queries[static_cast<int>(filter->step())];
    std::int64_t block = std::clamp<std::int64_t>(block_bytes / (4 * d) / width, 1, max_block_tiles) * width;
    if (plan.query_tile > 0) block = std::min(block, plan.query_tile);
    run(s, cut(n, q, block, threads), threads, k, progress, ids, ranks, report,
        [&](Shortlist& list, std::int64_t count) { return PanelLoop(s, *filter, list, count); });
    return true;
}

}  // namespace kith::cpu
