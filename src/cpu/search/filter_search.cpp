// Filter and rescore. Three filters share everything but their inner loop: packed panels against
// tiles of queries, coarse panels (coarse_filter.h), and for a few queries one pass over the
// caller's rows (row_filter.h).
#include "cpu/search/filter_search.h"

#include <algorithm>
#include <atomic>
#include <bit>

#include "cpu/filter/panels.h"
#include "cpu/filter/tile/query_tiles.h"
#include "cpu/metric/kernels.h"
#include "cpu/search/coarse_filter.h"
#include "cpu/search/row_filter.h"
#include "cpu/search/shortlist.h"
#include "exact/report/watched.h"

namespace kith::cpu {

namespace {

// Bytes of a block's packed queries. With a panel they fit into the L2 cache.
constexpr std::int64_t block_bytes = 384 << 10;
// Panels up to this size are read again by each of many small blocks. Larger ones are split into
// ranges, in each of which a query has to find its threshold anew. 100 queries, k 10, two threads
// of a Zen 5: small blocks are 2.2 times as fast at n 1,000, d 16, and 1.3 times at n 10,000, d
// 128; no difference at n 100,000.
constexpr std::int64_t near_bytes = 3 << 20;
// Bytes of the neighbours that all queries keep between ranges of the points.
constexpr std::int64_t kept_bytes = 256 << 20;
// A query with more candidates than n / max_share (at least 8 k + few_candidates) is left to the
// next filter or to the full scan: rescoring a candidate costs several times as much as scanning a
// point.
constexpr double max_share = 20;
constexpr std::int64_t few_candidates = 1024;
// Likewise a query for which coarse panels rescore more than most_read_share of the rows, but at
// least this many.
constexpr double few_rows_read = 1024;
// Groups of 32 points between two polls of the progress: at most max_groups_per_report, and about
// work_per_report multiply-adds.
constexpr std::int64_t max_groups_per_report = 256, work_per_report = 1 << 27;

// Compares panels with packed queries.
class PanelFilter {
public:
    PanelFilter(const Search& s, const Filter& filter, Shortlist& list, std::int64_t count)
        : search_(s),
          filter_(filter),
          list_(list),
          count_(count),
          queries_(filter.tiles(tile_kernels(s.isa)), count, filter.words()) {
        std::vector<float> form(static_cast<std::size_t>(s.points.rows.cols));
        for (std::int64_t i = 0; i < count; ++i) {
            list.add_query(filter.query(list.rows(), i, tile_kernels(s.isa), form.data()));
            if (list.filtered(i)) queries_.set(i, form.data(), filter.row_words());
        }
    }

    std::int64_t stride(std::int64_t panels) const { return panel_stride(count_, panels); }

    void group(std::int64_t p) {
        const float* const panel = filter_.panel(p);
        std::uint32_t points = 0;
        bool known = false;
        queries_.compare(panel, list_.thresholds(), filter_.exponent(),
                         [&](std::int64_t first, std::int64_t here, const std::uint32_t* hits,
                             const float* values) {
                             // Few panels have a candidate at all.
                             if (!known) points = search_.candidates_of(panel, p * panel_points);
                             known = true;
                             for (std::int64_t i = 0; i < here; ++i)
                                 if (const std::uint32_t lanes = hits[i] & points)
                                     offer(first + i, p, panel, lanes, values + i * panel_points);
                         });
    }

    // compare() reads the thresholds anew for each panel.
    void follow() {}

private:
    void offer(std::int64_t i, std::int64_t p, const float* panel, std::uint32_t hits,
               const float* values) {
        for (; hits; hits &= hits - 1) {
            const int lane = std::countr_zero(hits);
            list_.offer(i, values[lane], panel[panel_points + lane], p * panel_points + lane);
        }
        list_.settle(i);
    }

    const Search& search_;
    const Filter& filter_;
    Shortlist& list_;
    std::int64_t count_;
    QueryTiles queries_;
};

machine::ThreadPool::Cost cost(std::int64_t n, std::int64_t q, std::int64_t d) {
    return machine::ThreadPool::Cost(filter_microseconds(
        static_cast<double>(n), static_cast<double>(q), static_cast<double>(d)));
}
constexpr machine::ThreadPool::Cost least_to_share{least_shared_microseconds};

// Tasks are blocks of queries x ranges of the points.
struct TaskSchedule {
    std::int64_t block, blocks;  // queries per block, number of blocks
    std::int64_t groups;         // groups of 32 points
    std::int64_t ranges;         // ranges of groups; more than one if there are few blocks
};

// `tile`: if there are enough queries, blocks are multiples of it; 0: any size.
TaskSchedule make_schedule(std::int64_t n, std::int64_t q, std::int64_t tile, std::int64_t block,
                           std::int64_t k, int threads) {
    const std::int64_t tasks = threads > 1 ? tasks_of_thread * threads : 1;
    const auto share = [q](std::int64_t parts) { return (q + parts - 1) / parts; };
    TaskSchedule c;
    c.block =
        tile > 0 && q >= tasks * tile ? (share(tasks) + tile - 1) / tile * tile : share(threads);
    c.block = std::clamp<std::int64_t>(c.block, 1, block);
    c.blocks = (q + c.block - 1) / c.block;
    c.groups = (n + panel_points - 1) / panel_points;
    const std::int64_t most = std::max<std::int64_t>(kept_bytes / TopK::bytes(k) / q, 1);
    c.ranges = std::min({(tasks + c.blocks - 1) / c.blocks, c.groups, most});
    return c;
}

// A filter that leaves most of at least this many queries is skipped for the blocks that follow.
constexpr std::int64_t min_tried = 64;
// From least_piloted queries on, a coarse filter first tries about `pilots` of them, evenly spaced:
// the queries may be unlike the points, whose sample has predicted a gain.
constexpr std::size_t least_piloted = 512, pilots = 64;
// Fewer queries do not guess thresholds: the pilots of the guess would be too large a share of
// them.
constexpr std::int64_t least_guessed = 1024;
// Packing the points takes as long as about thirty scans, or as about a hundred passes over all
// rows that a projection rescores from. Packing is put off until queries have spent most_spared
// passes over the rows instead; a scan counts as readings_of_scan of them.
constexpr std::int64_t most_spared = 64, readings_of_scan = 4;
using strategy::Causes, strategy::Numbers, strategy::Queries, strategy::raise;

// Merges the neighbours of each answered query over all ranges of the points.
void merge_ranges(NearestCall& call, std::vector<std::vector<TopK>>& partial, const TaskSchedule& c,
                  const Numbers& numbers, const std::vector<std::atomic<bool>>& unanswered,
                  int threads) {
    constexpr std::int64_t grain = 16;
    constexpr double per_neighbour = 0.1;  // microseconds
    const std::int64_t q = std::ssize(numbers);
    const auto merge = [&](std::int64_t i) {
        if (unanswered[static_cast<std::size_t>(i)]) return;
        const auto best_of = [&](std::int64_t range) -> TopK& {
            return partial[static_cast<std::size_t>(i / c.block * c.ranges + range)]
                          [static_cast<std::size_t>(i % c.block)];
        };
        for (std::int64_t r = 1; r < c.ranges; ++r) best_of(0).merge(best_of(r));
        call.results.put(numbers[static_cast<std::size_t>(i)], best_of(0));
    };
    const machine::ThreadPool::Cost cost(static_cast<double>(q * c.ranges * call.search.k) *
                                         per_neighbour);
    watched_tasks(
        threads, (q + grain - 1) / grain, call.progress, "search",
        [&](std::int64_t task, int) {
            for (std::int64_t i = task * grain; i < std::min(q, (task + 1) * grain); ++i) merge(i);
        },
        cost);
}

// Searches queries `numbers` and returns those that are left without an answer.
// `make_filter(shortlist, count)` makes the filter of a block, which prepares the block's queries,
// evaluates groups of points, and follows the thresholds.
template <class MakeFilter>
Numbers search_blocks(NearestCall& call, const Search& s, const Numbers& numbers,
                      const TaskSchedule& c, int threads, const MakeFilter& make_filter) {
    ProgressMeter& progress = call.progress;
    const Results& results = call.results;
    Causes& causes = call.chain.causes();
    const std::int64_t n = s.points.rows.rows, q = static_cast<std::int64_t>(numbers.size());
    std::vector<std::vector<TopK>> partial(
        static_cast<std::size_t>(c.ranges > 1 ? c.blocks * c.ranges : 0));
    std::vector<std::atomic<bool>> unanswered(static_cast<std::size_t>(q));
    std::vector<double> distance_keys(static_cast<std::size_t>(c.blocks * c.ranges));
    std::atomic<std::int64_t> tried{0}, given_up{0};
    const auto answer = [&](std::int64_t task, int worker) {
        const std::int64_t first = task / c.ranges * c.block, here = std::min(c.block, q - first);
        const std::int64_t range = task % c.ranges;
        const std::int64_t begin = range * c.groups / c.ranges,
                           groups = (range + 1) * c.groups / c.ranges - begin;
        const auto points_of = [&](std::int64_t g) {
            return std::min<std::int64_t>(panel_points, n - (begin + g) * panel_points);
        };
        const bool hopeless = c.ranges == 1 && tried >= min_tried && 2 * given_up > tried;
        Shortlist list(s, numbers.data() + first, here);
        auto block_filter = make_filter(list, here);
        const std::int64_t stride = block_filter.stride(groups);
        const std::int64_t group_work = panel_points * here * s.points.rows.cols;
        const auto groups_per_report =
            std::clamp<std::int64_t>(work_per_report / group_work, 1, max_groups_per_report);
        double unreported = 0;
        for (std::int64_t g = 0, at = 0; g < groups; ++g) {
            if (!hopeless) block_filter.group(begin + at);
            if (list.advance(g + 1, groups)) block_filter.follow();
            unreported += static_cast<double>(points_of(at) * here);
            at += stride;
            if (at >= groups) at -= groups;
            if (g % groups_per_report != 0 && g + 1 < groups) continue;
            progress.add(unreported);
            unreported = 0;
            if (worker == 0) progress.poll("search");
            if (progress.cancelled()) return;
        }
        const auto go_on = [&] {
            if (worker == 0) progress.poll("search");
            return !progress.cancelled();
        };
        list.finish(begin * panel_points, std::min(n, (begin + groups) * panel_points), go_on);
        for (std::int64_t i = 0; i < here && range == 0; ++i)
            if (list.alike(i)) list.take_first(i, go_on);
        if (progress.cancelled()) return;
        distance_keys[static_cast<std::size_t>(task)] = list.distance_keys();
        for (std::int64_t i = 0; i < here; ++i) {
            const bool answered =
                list.has_nan(i) || list.alike(i) || (list.filtered(i) && !hopeless);
            raise(causes[static_cast<std::size_t>(numbers[static_cast<std::size_t>(first + i)])],
                  answered || !list.filtered(i) ? list.cause(i) : exact::Cause::not_tried);
            tried += 1;
            if (!answered) {
                given_up += 1;
                unanswered[static_cast<std::size_t>(first + i)] = true;
            }
            if (c.ranges > 1)
                partial[static_cast<std::size_t>(task)].push_back(std::move(list.best(i)));
            else if (answered)
                results.put(numbers[static_cast<std::size_t>(first + i)], list.best(i));
        }
    };
    watched_tasks(threads, c.blocks * c.ranges, progress, "search", answer,
                  cost(n, q, s.points.rows.cols));
    Numbers left;
    if (progress.cancelled()) return left;
    if (c.ranges > 1) merge_ranges(call, partial, c, numbers, unanswered, threads);
    for (std::int64_t i = 0; i < q; ++i)
        if (unanswered[static_cast<std::size_t>(i)])
            left.push_back(numbers[static_cast<std::size_t>(i)]);
    for (const double count : distance_keys) call.report.candidates += count;
    return left;
}

// Sets the limits beyond which a search gives up a query in one of this many ranges of the points.
void limit_candidates(Search& s, std::int64_t ranges) {
    const auto n = static_cast<double>(s.points.rows.rows), parts = static_cast<double>(ranges);
    s.max_candidates =
        std::max(n / max_share / parts, static_cast<double>(8 * s.k + few_candidates));
    if (!s.read_all) s.max_rows_read = std::max(most_read_share * n / parts, few_rows_read);
}

int threads_for(const NearestCall& call, std::int64_t q) {
    return cost(call.points.rows.rows, q, call.points.rows.cols) < least_to_share ? 1
                                                                                  : call.threads;
}

// Runs the filter of a rounding on queries `numbers`; `left`: those without an answer. Returns
// false if the points have no such filter.
bool filter_with(NearestCall& call, Rounding rounding, const Numbers& numbers, Numbers& left) {
    const std::int64_t n = call.points.rows.rows, q = std::ssize(numbers);
    const int threads = threads_for(call, q);
    const Filter* filter =
        call.points.filter(call.isa, threads, rounding, call.progress, call.plan.forced);
    if (!filter) return false;
    const Tiles& tiles = filter->tiles(tile_kernels(call.isa));
    const std::int64_t width = tiles.queries;
    std::int64_t block =
        std::clamp<std::int64_t>(block_bytes / (4 * filter->words()) / width, 1, max_block_tiles) *
        width;
    if (is_coarse(rounding)) block = coarse_query_block / width * width;
    if (call.query_tile > 0) block = std::min(block, call.query_tile);
    const bool near = 4 * filter->words() * n <= near_bytes;
    Search s = call.search;
    const TaskSchedule c = make_schedule(n, q, near ? tiles.worthwhile() : 0, block, s.k, threads);
    limit_candidates(s, c.ranges);
    // Each range would guess from its own first points, which are too few.
    if (c.ranges > 1) s.guesses = nullptr;
    const auto search_with = [&]<class BlockFilter>(std::type_identity<BlockFilter>) {
        left =
            search_blocks(call, s, numbers, c, threads, [&](Shortlist& list, std::int64_t count) {
                return BlockFilter(s, *filter, list, count);
            });
    };
    if (is_coarse(rounding)) search_with(std::type_identity<CoarseFilter>{});
    else search_with(std::type_identity<PanelFilter>{});
    return true;
}

// As filter_with(), but returns false without queries, or if the call is cancelled.
bool filter_some(NearestCall& call, Rounding rounding, const Numbers& numbers, Numbers& left) {
    if (numbers.empty() || call.progress.cancelled() || !filter_with(call, rounding, numbers, left))
        return false;
    // Takes back the progress that was counted for the pairs of the queries left.
    call.progress.add(-static_cast<double>(call.points.rows.rows) *
                      static_cast<double>(left.size()));
    return true;
}

// As filter_some(), with guessed thresholds if the queries are many. Queries that guessed wrongly
// are filtered again without guesses.
bool filter_guessing(NearestCall& call, Rounding rounding, const Numbers& numbers, Numbers& left) {
    Guesses guesses(call.queries.rows);
    if (std::ssize(numbers) >= least_guessed) call.search.guesses = &guesses;
    const bool filtered = filter_some(call, rounding, numbers, left);
    call.search.guesses = nullptr;
    if (!filtered) return false;
    const Numbers wrong = guesses.wrong(left);
    Numbers still;
    if (filter_some(call, rounding, wrong, still)) strategy::replace(left, wrong, still);
    return true;
}

// True if answering these few queries, which a filter has left, without packing the points is
// faster than packing them; `readings`: the passes over the rows that one query takes. Not for
// metrics with logarithms, whose scan is too slow.
bool spared(const NearestCall& call, Rounding rounding, std::int64_t queries,
            std::int64_t readings) {
    const metric::Traits traits = metric_traits(call.points.metric.id);
    return call.filtered() && metric::product_form(traits) != metric::Gemm::cross_entropy &&
           !call.points.packed(call.isa, rounding) &&
           call.spared_before + queries * readings <= most_spared;
}

constexpr const char* few_to_pack =
    "packing the points takes longer than scanning for so few queries";
constexpr const char* not_covered = "its bound does not cover the points";

// Lets queries for which coarse panels have rescored too many rows read on without a limit.
// Declines if another filter serves them better.
const char* read_on(NearestCall& call, const Numbers& numbers, Numbers& left) {
    const Rounding product = product_rounding(call.isa, call.points.rows.cols);
    if (!call.coarse_pays) return "the panels leave too many rows of most queries";
    if (rows_serve(call, product) || !spared(call, product, call.chain.count(), 1))
        return "all coordinates serve the queries better";
    call.search.read_all = true;
    const bool ran = filter_some(call, call.rounding, numbers, left);
    call.points.spared() += std::ssize(numbers);
    call.search.read_all = false;
    return ran ? nullptr : not_covered;
}

// The numbers of an attempt's queries: the given ones, or all that are left.
const Numbers& numbers_of(NearestCall& call, const Queries& queries) {
    return queries.numbers ? *queries.numbers : call.chain.left();
}

}  // namespace

bool rows_serve(const NearestCall& call, Rounding rounding) {
    return call.chain.count() <= max_row_queries && !is_coarse(rounding) &&
           !call.points.packed(call.isa, rounding) && row_filter_serves(call.points, call.queries);
}

const char* nearest_by_panels(NearestCall& call, const Strategy& strategy, Rounding rounding,
                              const Queries& queries, Numbers& left) {
    if (spared(call, rounding, queries.count, readings_of_scan)) return few_to_pack;
    if (!filter_guessing(call, rounding, numbers_of(call, queries), left)) return not_covered;
    call.ran(strategy, rounding);
    return nullptr;
}

const char* nearest_by_coarse_panels(NearestCall& call, const Strategy& strategy, Path path,
                                     const Queries& queries, Numbers& left) {
    const Points& points = call.points;
    if (call.when == When::unlimited) return read_on(call, *queries.numbers, left);
    if (call.when == When::without_repeats)
        return nearest_by_panels(call, strategy, call.rounding, queries, left);
    const Rounding own = points.rounding(path, call.queries, call.isa);
    const bool forced = call.plan.forced;
    const MatrixView* const tried = call.only && !call.graph ? &call.queries : nullptr;
    if (!points.filter(call.isa, call.threads, own, call.progress, forced, tried))
        return "a sample of the points says that it does not pay";
    call.coarse = &strategy;
    exact::ProjectionRecord& record = points.record(call.isa, own);
    if (!forced && !record.pays()) return "queries have been unlike the points too often";
    const Numbers& all = numbers_of(call, queries);
    Numbers some = all, rest;
    if (all.size() >= least_piloted) {
        const std::size_t step = all.size() / pilots;
        some.clear();
        for (std::size_t i = 0; i < all.size(); ++i)
            (i % step == 0 ? some : rest).push_back(all[i]);
    }
    for (const Numbers* const part : {&some, &rest}) {
        if (part->empty()) continue;
        Numbers after = *part;
        if (forced || record.pays()) {
            if (filter_guessing(call, own, *part, after)) call.ran(strategy, own);
            record.note(std::ssize(*part), std::ssize(after));
        } else {
            call.chain.spare(std::ssize(*part));
        }
        left.insert(left.end(), after.begin(), after.end());
    }
    std::sort(left.begin(), left.end());
    call.coarse_pays = forced || record.pays();
    return nullptr;
}

const char* nearest_by_rows(NearestCall& call, const Queries& queries, Numbers& left) {
    if (!row_filter_serves(call.points, call.queries))
        return "serves rows of f32, by squares, sums, maxima and products";
    const Numbers& numbers = numbers_of(call, queries);
    const std::int64_t q = std::ssize(numbers);
    const int threads = threads_for(call, q);
    Search s = call.search;
    const TaskSchedule c =
        make_schedule(call.points.rows.rows, q, 0, max_row_queries, s.k, threads);
    limit_candidates(s, c.ranges);
    left = search_blocks(call, s, numbers, c, threads, [&](Shortlist& list, std::int64_t count) {
        return RowFilter(s, list, count);
    });
    call.progress.add(-static_cast<double>(call.points.rows.rows) *
                      static_cast<double>(left.size()));
    call.by_rows = true;
    return nullptr;
}

}  // namespace kith::cpu
