// See radius_levels.h.
#include "cpu/search/radius/radius_levels.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "cpu/filter/panels.h"
#include "cpu/filter/tile/query_tiles.h"
#include "cpu/metric/kernels.h"
#include "exact/ceil_div.h"

namespace kith::cpu {

namespace {

// Bytes of a filter block's packed queries; of a scan's converted queries, and of its tile of
// points. They fit into the L2 cache.
constexpr std::int64_t block_bytes = 384 << 10, scan_bytes = 256 << 10;
constexpr std::int64_t max_block_tiles = 16, max_scan_queries = 64, max_scan_points = 512;
// Multiply-adds between two polls of the progress.
constexpr std::int64_t work_per_report = 1 << 26;
// Queries per block of a tree. A query is not left to a filter before it has computed this many
// keys in vain.
constexpr std::int64_t tree_block = 256;
constexpr double few_tree_keys = 2048;

RadiusSchedule make_schedule(std::int64_t q, std::int64_t width, std::int64_t most,
                             std::int64_t tiles, int threads) {
    const std::int64_t tasks = threads > 1 ? 2 * threads : 1;
    RadiusSchedule c;
    c.block = std::min(exact::ceil_div(exact::ceil_div(q, threads), width) * width, most);
    c.blocks = exact::ceil_div(q, c.block);
    c.tiles = tiles;
    c.ranges = std::min(exact::ceil_div(tasks, c.blocks), tiles);
    return c;
}

// Compares panels with packed queries.
class FilterLevel : public RadiusLevel {
public:
    FilterLevel(const Filter& filter, const Points& points, Isa isa, std::int64_t query_tile,
                std::int64_t grain)
        : RadiusLevel(grain),
          filter_(filter),
          kernels_(tile_kernels(isa)),
          n_(points.rows.rows),
          d_(points.rows.cols),
          width_(filter.tiles(kernels_).queries),
          most_(std::clamp<std::int64_t>(block_bytes / (4 * filter.words()) / width_, 1,
                                         max_block_tiles) *
                width_) {
        if (query_tile > 0) most_ = std::min(most_, query_tile);
    }

    RadiusSchedule schedule(std::int64_t q, int threads) const override {
        return make_schedule(q, width_, most_, filter_.panels(), threads);
    }

    void evaluate(RadiusBlock& block, std::int64_t count, std::int64_t begin, std::int64_t end,
                  const std::function<bool(double)>& go_on) const override {
        QueryTiles queries(filter_.tiles(kernels_), count, filter_.words());
        std::vector<float> form(static_cast<std::size_t>(d_));
        for (std::int64_t i = 0; i < count; ++i) {
            const QueryTerms terms = filter_.query(block.rows(), i, kernels_, form.data());
            block.add_query(terms);
            if (terms.usable && !block.has_nan(i)) queries.set(i, form.data(), filter_.row_words());
        }
        const std::int64_t panels_per_report =
            std::clamp<std::int64_t>(work_per_report / (panel_points * count * d_), 1, 256);
        double unreported = 0;
        std::int64_t listed = 0;
        for (std::int64_t p = begin; p < end; ++p) {
            panel(block, queries, p);
            unreported += static_cast<double>(
                std::min<std::int64_t>(panel_points, n_ - p * panel_points) * count);
            if ((p - begin) % panels_per_report != 0 && p + 1 < end &&
                block.listed() < listed + grain_)
                continue;
            if (!go_on(unreported)) return;
            unreported = 0;
            listed = block.listed();
        }
    }

private:
    void panel(RadiusBlock& block, const QueryTiles& queries, std::int64_t p) const {
        const float* const panel = filter_.panel(p);
        queries.compare(panel, block.thresholds(), filter_.exponent(),
                        [&](std::int64_t first, std::int64_t here, const std::uint32_t* hits,
                            const float* values) {
                            for (std::int64_t i = 0; i < here; ++i) {
                                for (std::uint32_t left = hits[i]; left; left &= left - 1) {
                                    const int lane = std::countr_zero(left);
                                    // A half norm of +inf marks padding, or a point with a NaN.
                                    if (panel[lane] == std::numeric_limits<float>::infinity())
                                        continue;
                                    block.offer(first + i, values[i * panel_points + lane],
                                                panel[panel_points + lane],
                                                p * panel_points + lane);
                                }
                            }
                        });
    }

    const Filter& filter_;
    const TileKernels& kernels_;
    std::int64_t n_, d_, width_, most_;
};

// Compares every pair in binary64.
class ScanLevel : public RadiusLevel {
public:
    ScanLevel(const Points& points, std::int64_t grain)
        : RadiusLevel(grain),
          rows_(points.rows),
          points_(std::clamp<std::int64_t>(scan_bytes / (8 * points.rows.cols) / 8 * 8, 8,
                                           max_scan_points)) {}

    RadiusSchedule schedule(std::int64_t q, int threads) const override {
        const std::int64_t most =
            std::clamp<std::int64_t>(scan_bytes / (8 * rows_.cols), 1, max_scan_queries);
        return make_schedule(q, 1, most, (rows_.rows + points_ - 1) / points_, threads);
    }

    void evaluate(RadiusBlock& block, std::int64_t count, std::int64_t begin, std::int64_t end,
                  const std::function<bool(double)>& go_on) const override {
        RowBlock tile(points_, rows_.cols);
        std::vector<double> keys(static_cast<std::size_t>(points_));
        for (std::int64_t t = begin; t < end; ++t) {
            const std::int64_t first = t * points_, here = std::min(points_, rows_.rows - first);
            block.distance_keys().load_points(rows_, first, here, tile);
            for (std::int64_t i = 0; i < count; ++i) {
                block.scan(i, tile, first, here, keys.data());
                if (!go_on(static_cast<double>(here))) return;
            }
        }
    }

private:
    MatrixView rows_;
    std::int64_t points_;
};

// Searches the leaves of a tree.
class TreeLevel : public RadiusLevel {
public:
    // Gives up queries that compute more than n / share keys in vain.
    TreeLevel(const Tree& tree, const Points& points, Isa isa, double share, std::int64_t grain)
        : RadiusLevel(grain),
          tree_(tree),
          params_(points.metric.params),
          n_(static_cast<double>(points.rows.rows)),
          kernels_(tree_kernels(points.metric.id, isa, params_.d)),
          most_(std::max(n_ / share, few_tree_keys)) {}

    RadiusSchedule schedule(std::int64_t q, int threads) const override {
        return make_schedule(q, 1, tree_block, 1, threads);
    }

    void evaluate(RadiusBlock& block, std::int64_t count, std::int64_t, std::int64_t,
                  const std::function<bool(double)>& go_on) const override {
        BallTraversal traversal(tree_, kernels_, params_);
        for (std::int64_t i = 0; i < count; ++i) {
            block.visit(i, traversal, most_, [&] { return go_on(0); });
            if (!go_on(n_)) return;
        }
    }

private:
    const Tree& tree_;
    const metric::Params& params_;
    double n_;
    const TreeKernels& kernels_;
    double most_;
};

}  // namespace

std::unique_ptr<RadiusLevel> filter_level(const RadiusCall& call, Rounding rounding) {
    const Filter* const filter =
        call.points.filter(call.isa, call.threads, rounding, call.progress);
    if (!filter) return nullptr;
    return std::make_unique<FilterLevel>(*filter, call.points, call.isa, call.query_tile,
                                         call.grain);
}

std::unique_ptr<RadiusLevel> tree_level(const RadiusCall& call, const Tree* tree, double share) {
    if (!tree) return nullptr;
    return std::make_unique<TreeLevel>(*tree, call.points, call.isa, share, call.grain);
}

std::unique_ptr<RadiusLevel> scan_level(const RadiusCall& call) {
    return std::make_unique<ScanLevel>(call.points, call.grain);
}

}  // namespace kith::cpu
