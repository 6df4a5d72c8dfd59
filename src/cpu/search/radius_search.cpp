// Waves of queries: each passes a filter, what that leaves the next, at last a scan in binary64; then its rows are
// sorted and handed on. A wave is as large as the lists of those before let expect, and cut where they hold more.
#include "cpu/search/radius_search.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include "cpu/filter/panels.h"
#include "cpu/metric/kernels.h"
#include "cpu/search/radius_block.h"
#include "exact/ceil_div.h"
#include "exact/fallbacks.h"
#include "exact/watched.h"

namespace kith::cpu {

namespace {

// Packed queries of a block, and converted ones of a scan and the points of its tiles: they fit into L2.
constexpr std::int64_t block_bytes = 384 << 10, scan_bytes = 256 << 10;
constexpr std::int64_t max_block_tiles = 16, max_scan_queries = 64, max_scan_points = 512;
// A query with more candidates in vain than n over max_share (or these few) is left to the next filter, or scanned.
constexpr double max_share = 20, few_candidates = 1024;
// Work in multiply-adds between two looks at the progress.
constexpr std::int64_t work_per_report = 1 << 26;
// So many queries are tried at least before a filter is given up for all that follow.
constexpr std::int64_t min_tried = 64;
constexpr std::int64_t rows_per_task = 16;

using Numbers = std::vector<std::int64_t>;  // of queries, ascending

// Rows [first, first + lists or counts) of the answer.
struct Wave {
    std::int64_t first = 0;
    std::vector<std::vector<Neighbor>> lists;
    std::vector<std::int64_t> counts;

    void cut(std::int64_t rows) {
        counts.resize(static_cast<std::size_t>(rows));
        if (!lists.empty()) lists.resize(static_cast<std::size_t>(rows));
    }
    std::int64_t listed() const {
        std::int64_t all = 0;
        for (const auto& list : lists) all += static_cast<std::int64_t>(list.size());
        return all;
    }
};

// What the lists of a wave may hold, in neighbours; any thread.
class Budget {
public:
    explicit Budget(std::int64_t most) : most_(most) {}
    // Before a wave, and after a level, which nothing runs beside. Where it is to end whatever it holds: `bounded`
    // false.
    void set(std::int64_t held, bool bounded) {
        held_ = held;
        bounded_ = bounded;
        spent_ = bounded && held > most_;
    }
    void add(std::int64_t listed) {
        if (held_.fetch_add(listed, std::memory_order_relaxed) + listed > most_ && bounded_) spent_ = true;
    }
    bool spent() const { return spent_.load(std::memory_order_relaxed); }
    // News that is worth telling: a small share of it.
    std::int64_t grain() const { return std::clamp<std::int64_t>(most_ / 64, 1, 1 << 14); }

private:
    std::int64_t most_;
    bool bounded_ = false;
    std::atomic<std::int64_t> held_ = 0;
    std::atomic<bool> spent_ = false;
};

struct Schedule {
    std::int64_t block, blocks;  // queries per block, blocks
    std::int64_t tiles, ranges;  // of the points; ranges of tiles, for few blocks
};

Schedule make_schedule(std::int64_t q, std::int64_t width, std::int64_t most, std::int64_t tiles, int threads) {
    const std::int64_t tasks = threads > 1 ? 2 * threads : 1;
    Schedule c;
    c.block = std::min(exact::ceil_div(exact::ceil_div(q, threads), width) * width, most);
    c.blocks = exact::ceil_div(q, c.block);
    c.tiles = tiles;
    c.ranges = std::min(exact::ceil_div(tasks, c.blocks), tiles);
    return c;
}

// One way of answering queries, over all waves.
class Level {
public:
    explicit Level(std::int64_t grain) : grain_(grain) {}
    virtual ~Level() = default;
    virtual Schedule schedule(std::int64_t q, int threads) const = 0;
    // Offers tiles [begin, end) to a block; go_on(pairs) after some of them, and after `grain` neighbours were listed.
    virtual void evaluate(RadiusBlock& block, std::int64_t count, std::int64_t begin, std::int64_t end,
                          const std::function<bool(double)>& go_on) const = 0;
    bool hopeless() const { return tried >= min_tried && 2 * given_up > tried; }
    std::int64_t tried = 0, given_up = 0;

protected:
    std::int64_t grain_;
};

// Panels against packed queries.
class FilterLevel : public Level {
public:
    FilterLevel(const Filter& filter, const Points& points, Isa isa, std::int64_t query_tile, std::int64_t grain)
        : Level(grain),
          filter_(filter),
          kernels_(tile_kernels(isa)),
          n_(points.rows.rows),
          d_(points.rows.cols),
          width_(filter.tile_queries(kernels_)),
          most_(std::clamp<std::int64_t>(block_bytes / (4 * filter.words()) / width_, 1, max_block_tiles) * width_) {
        if (query_tile > 0) most_ = std::min(most_, query_tile);
    }

    Schedule schedule(std::int64_t q, int threads) const override {
        return make_schedule(q, width_, most_, filter_.panels(), threads);
    }

    void evaluate(RadiusBlock& block, std::int64_t count, std::int64_t begin, std::int64_t end,
                  const std::function<bool(double)>& go_on) const override {
        const std::int64_t words = filter_.words();
        Buffer<float> packed(count * words);
        std::vector<float> form(static_cast<std::size_t>(d_));
        for (std::int64_t i = 0; i < count; ++i) {
            const QueryTerms terms = filter_.query(block.rows(), i, kernels_, form.data());
            block.add_query(terms);
            const std::int64_t tile = i / width_ * width_, here = std::min(width_, count - tile);
            float* out = packed.data() + tile * words + (i - tile);
            const bool used = terms.usable && !block.has_nan(i);
            for (std::int64_t j = 0; j < words; ++j) out[j * here] = used ? form[static_cast<std::size_t>(j)] : 0.0f;
        }
        const std::int64_t panels_per_report =
            std::clamp<std::int64_t>(work_per_report / (panel_points * count * d_), 1, 256);
        double unreported = 0;
        std::int64_t listed = 0;
        for (std::int64_t p = begin; p < end; ++p) {
            panel(block, count, packed.data(), p);
            unreported += static_cast<double>(std::min<std::int64_t>(panel_points, n_ - p * panel_points) * count);
            if ((p - begin) % panels_per_report != 0 && p + 1 < end && block.listed() < listed + grain_) continue;
            if (!go_on(unreported)) return;
            unreported = 0;
            listed = block.listed();
        }
    }

private:
    void panel(RadiusBlock& block, std::int64_t count, const float* packed, std::int64_t p) const {
        const float* const panel = filter_.panel(p);
        const Tile* const tiles = filter_.tiles(kernels_);
        std::uint32_t hits[max_tile_queries];
        alignas(64) float values[max_tile_queries * panel_points];
        for (std::int64_t first = 0; first < count; first += width_) {
            const std::int64_t here = std::min(width_, count - first);
            if (!tiles[here](panel, filter_.words(), packed + first * filter_.words(), block.thresholds() + first,
                             filter_.exponent(), hits, values))
                continue;
            for (std::int64_t i = 0; i < here; ++i) {
                for (std::uint32_t left = hits[i]; left; left &= left - 1) {
                    const int lane = std::countr_zero(left);
                    // A half norm of +inf: padding, or a point with a NaN.
                    if (panel[lane] == std::numeric_limits<float>::infinity()) continue;
                    block.offer(first + i, values[i * panel_points + lane], panel[panel_points + lane],
                                p * panel_points + lane);
                }
            }
        }
    }

    const Filter& filter_;
    const TileKernels& kernels_;
    std::int64_t n_, d_, width_, most_;
};

// Every pair in binary64.
class ScanLevel : public Level {
public:
    ScanLevel(const Points& points, std::int64_t grain)
        : Level(grain),
          rows_(points.rows),
          points_(std::clamp<std::int64_t>(scan_bytes / (8 * points.rows.cols) / 8 * 8, 8, max_scan_points)) {}

    Schedule schedule(std::int64_t q, int threads) const override {
        const std::int64_t most = std::clamp<std::int64_t>(scan_bytes / (8 * rows_.cols), 1, max_scan_queries);
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

// What a block has found in a range of the points.
struct Part {
    std::vector<std::vector<Neighbor>> lists;
    std::vector<std::int64_t> counts;
    std::vector<exact::Cause> causes;
    std::vector<char> answered;
    double evaluated = 0;
    bool ended = false;
};

// Answers queries `numbers` of a wave; returns those that the level leaves. Where the budget is spent, the wave is cut
// to the rows before the first query that was not ended.
Numbers run_level(Level& level, const RadiusSearch& search, const Numbers& numbers, int threads,
                  ProgressMeter& progress, Budget& budget, Wave& wave, std::vector<exact::Cause>& causes,
                  Report& report) {
    const auto q = static_cast<std::int64_t>(numbers.size());
    const std::int64_t n = search.points.rows.rows;
    const Schedule c = level.schedule(q, threads);
    RadiusSearch s = search;
    s.max_needless = std::max(static_cast<double>(n) / max_share, few_candidates) / static_cast<double>(c.ranges);
    std::vector<Part> parts(static_cast<std::size_t>(c.blocks * c.ranges));
    watched_tasks(threads, c.blocks * c.ranges, progress, "search", [&](std::int64_t task, int worker) {
        const std::int64_t first = task / c.ranges * c.block, here = std::min(c.block, q - first);
        const std::int64_t range = task % c.ranges;
        if (budget.spent()) return;
        RadiusBlock block(s, numbers.data() + first, here);
        std::int64_t told = 0;
        bool stopped = false;
        const std::function<bool(double)> go_on = [&](double pairs) {
            progress.add(pairs);
            if (worker == 0) progress.poll("search");
            budget.add(block.listed() - told);
            told = block.listed();
            stopped = progress.cancelled() || budget.spent();
            return !stopped;
        };
        level.evaluate(block, here, range * c.tiles / c.ranges, (range + 1) * c.tiles / c.ranges, go_on);
        Part& part = parts[static_cast<std::size_t>(task)];
        part.evaluated = block.evaluated();
        if (stopped) return;
        block.finish();
        budget.add(block.listed() - told);
        part.evaluated = block.evaluated();
        if (budget.spent()) return;
        part.ended = true;
        for (std::int64_t i = 0; i < here; ++i) {
            part.answered.push_back(block.answered(i));
            part.causes.push_back(block.cause(i));
            part.counts.push_back(block.count(i));
            if (!search.counts) part.lists.push_back(std::move(block.found(i)));
        }
    });
    Numbers left;
    if (progress.cancelled()) return left;
    for (const Part& part : parts) report.candidates += part.evaluated;
    const auto open = std::find_if(parts.begin(), parts.end(), [](const Part& part) { return !part.ended; });
    const std::int64_t ended = open == parts.end() ? q : (open - parts.begin()) / c.ranges * c.block;
    if (ended < q) wave.cut(numbers[static_cast<std::size_t>(ended)] - wave.first);
    for (std::int64_t i = 0; i < ended; ++i) {
        const std::int64_t number = numbers[static_cast<std::size_t>(i)];
        const auto row = static_cast<std::size_t>(number - wave.first), at = static_cast<std::size_t>(i % c.block);
        Part* const of_row = parts.data() + i / c.block * c.ranges;
        bool answered = true;
        for (std::int64_t r = 0; r < c.ranges; ++r) {
            answered = answered && of_row[r].answered[at];
            causes[static_cast<std::size_t>(number)] =
                std::max(causes[static_cast<std::size_t>(number)], of_row[r].causes[at]);
        }
        if (!answered) {
            left.push_back(number);
            continue;
        }
        std::int64_t count = 0;
        for (std::int64_t r = 0; r < c.ranges; ++r) count += of_row[r].counts[at];
        wave.counts[row] = count;
        if (search.counts) continue;
        wave.lists[row] = std::move(of_row[0].lists[at]);
        for (std::int64_t r = 1; r < c.ranges; ++r) {
            wave.lists[row].insert(wave.lists[row].end(), of_row[r].lists[at].begin(), of_row[r].lists[at].end());
            of_row[r].lists[at] = {};
        }
    }
    level.tried += ended;
    level.given_up += static_cast<std::int64_t>(left.size());
    progress.add(-static_cast<double>(n) * static_cast<double>(left.size()));
    return left;
}

// Sorts the rows of a wave and hands them on.
void hand_on(const Points& points, const RadiusRequest& request, Wave& wave, int threads, ProgressMeter& progress) {
    const auto rows = static_cast<std::int64_t>(wave.lists.size());
    std::vector<std::int64_t> offsets(wave.lists.size() + 1, 0);
    std::partial_sum(wave.counts.begin(), wave.counts.end(), offsets.begin() + 1);
    const auto total = static_cast<std::size_t>(offsets.back());
    std::vector<std::int64_t> ids(total);
    std::vector<float> distances(request.f64 ? 0 : total);
    std::vector<double> distances64(request.f64 ? total : 0);
    const MetricSpec& metric = points.metric;
    const bool user = metric.id == MetricId::formula || metric.id == MetricId::functor;
    const auto report = user ? nullptr : metric_kernels(metric.id, Isa::baseline).report;
    watched_for(threads, rows, rows_per_task, progress, "search", [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t i = first; i < last; ++i) {
            std::vector<Neighbor> row = std::move(wave.lists[static_cast<std::size_t>(i)]);
            std::sort(row.begin(), row.end());
            auto at = static_cast<std::size_t>(offsets[static_cast<std::size_t>(i)]);
            for (const Neighbor& found : row) {
                const double distance = report ? report(found.rank, metric.params) : found.rank;
                ids[at] = found.id;
                if (request.f64) distances64[at] = distance;
                else distances[at] = static_cast<float>(distance);
                ++at;
            }
        }
    });
    if (progress.cancelled()) return;
    (*request.take)({wave.first, rows, offsets.data(), ids.data(), request.f64 ? nullptr : distances.data(),
                     request.f64 ? distances64.data() : nullptr});
}

}  // namespace

void radius_search(const Points& points, const RadiusRequest& request, const Plan& plan, ProgressMeter& progress,
                   Report& report) {
    const Isa isa = isa_named(plan.isa);
    const int threads = std::max(plan.threads, 1);
    const std::int64_t n = points.rows.rows, q = request.queries.rows;
    const RadiusSearch search{
        points, request.queries, request.radii, request.open, request.graph, request.counts != nullptr, isa};
    // Of a neighbour: in its list, and as it is handed on.
    const double row_bytes = sizeof(Neighbor) + sizeof(std::int64_t) + (request.f64 ? 8 : 4);
    const double most = static_cast<double>(request.list_bytes) / row_bytes;
    Budget budget(static_cast<std::int64_t>(most));
    std::vector<std::unique_ptr<Level>> levels;
    const auto add = [&](Rounding rounding) {
        if (const Filter* const filter = points.filter(isa, threads, rounding, progress))
            levels.push_back(std::make_unique<FilterLevel>(*filter, points, isa, plan.query_tile, budget.grain()));
    };
    const bool filtered = plan.path != Path::exact;
    const metric::Traits traits = filtered ? metric_kernels(points.metric.id, isa).traits : metric::Traits{};
    const Rounding own = rounding_of(plan.path);
    const bool products = filtered && metric::product_form(traits) != metric::Gemm::none;
    if (filtered) add(own);
    if (products && own == Rounding::direct && levels.empty()) add(Rounding::f32);
    const bool first_is_filter = !levels.empty();
    std::vector<exact::Cause> causes(static_cast<std::size_t>(q), exact::Cause::none);
    const auto none = filtered && !first_is_filter ? exact::Cause::no_filter : exact::Cause::none;
    bool finer = false;  // the finer filters have been added
    std::unique_ptr<Level> scan = std::make_unique<ScanLevel>(points, budget.grain());
    exact::Fallbacks fallbacks;
    // The lists of so many rows are expected to fit; of the first wave, whatever they hold.
    double rows = request.counts ? static_cast<double>(q)
                                 : std::max(most / static_cast<double>(n), static_cast<double>(max_tile_queries));
    double handed_on = 0;
    for (std::int64_t first = 0; first < q && !progress.cancelled();) {
        const auto wanted = static_cast<std::int64_t>(std::min(rows, static_cast<double>(q - first)));
        const double done = progress.done();
        Wave wave;
        wave.first = first;
        wave.counts.resize(static_cast<std::size_t>(wanted));
        if (!request.counts) wave.lists.resize(static_cast<std::size_t>(wanted));
        const bool bounded = !request.counts && wanted > 1;
        budget.set(0, bounded);
        Numbers left(static_cast<std::size_t>(wanted));
        std::iota(left.begin(), left.end(), first);
        for (std::size_t at = 0; !left.empty() && !progress.cancelled(); ++at) {
            if (at == levels.size() && !finer && first_is_filter) {
                finer = true;
                if (products && own == Rounding::bf16) add(Rounding::f32);
                if (products && own != Rounding::direct && traits.direct != metric::Direct::none) add(Rounding::direct);
            }
            if (at >= levels.size()) break;
            if (levels[at]->hopeless()) {
                for (const std::int64_t query : left)
                    causes[static_cast<std::size_t>(query)] =
                        std::max(causes[static_cast<std::size_t>(query)], exact::Cause::not_tried);
                continue;
            }
            left = run_level(*levels[at], search, left, threads, progress, budget, wave, causes, report);
            budget.set(wave.listed(), bounded);
        }
        if (progress.cancelled()) return;
        const Numbers scanned = left;
        if (!left.empty()) run_level(*scan, search, left, threads, progress, budget, wave, causes, report);
        if (progress.cancelled()) return;
        const auto count = static_cast<std::int64_t>(wave.counts.size());
        // Queries beyond the cut are begun anew.
        std::fill(causes.begin() + first + count, causes.begin() + first + wanted, exact::Cause::none);
        progress.add(done + static_cast<double>(n) * static_cast<double>(count) - progress.done());
        if (count == 0) {
            rows = std::max(static_cast<double>(wanted) / 4, 1.0);
            continue;
        }
        auto next = scanned.begin();
        for (std::int64_t query = first; query < first + count; ++query) {
            const bool is_scanned = next != scanned.end() && *next == query;
            if (is_scanned) ++next;
            exact::Cause cause = causes[static_cast<std::size_t>(query)];
            if (is_scanned) cause = std::max(cause, none);
            if (is_scanned) ++report.scanned;
            else if (cause == exact::Cause::none) ++report.certified;
            else ++report.retried;
            if (cause != exact::Cause::none) fallbacks.add(cause, is_scanned);
        }
        if (request.counts) {
            std::copy(wave.counts.begin(), wave.counts.end(), request.counts + first);
        } else {
            const auto listed = static_cast<double>(wave.listed());
            hand_on(points, request, wave, threads, progress);
            // Rows to come may be longer than those before.
            constexpr double growth = 4, reserve = 2;
            handed_on += listed;
            const double all = static_cast<double>(first + count), these = static_cast<double>(count);
            const double mean = std::max({handed_on / all, listed / these, 1.0});
            rows = std::max(1.0, std::min(most / mean / reserve, growth * these));
        }
        first += count;
    }
    fallbacks.describe(report);
}

}  // namespace kith::cpu
