// Filter and refine. Two filters share everything but their inner loop: packed panels against tiles of queries, and for
// a few queries a single pass over the caller's rows (row_filter.h).
#include "cpu/search/filter_search.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <iterator>
#include <numeric>

#include "cpu/filter/panels.h"
#include "cpu/filter/query_tiles.h"
#include "cpu/metric/kernels.h"
#include "cpu/search/coarse_filter.h"
#include "cpu/search/row_filter.h"
#include "cpu/search/scan.h"
#include "cpu/search/shortlist.h"
#include "cpu/search/tree_search.h"
#include "exact/watched.h"

namespace kith::cpu {

namespace {

// Packed queries of a block: with a panel beside them they fit into L2.
constexpr std::int64_t block_bytes = 384 << 10;
constexpr std::int64_t max_block_tiles = 16;
// Panels of so many bytes are read again by each of many small blocks rather than split into ranges, in each of which a
// query finds its threshold anew: 100 queries, k 10, two threads of a Zen 5: 2.2 times as fast at n 1,000, d 16, 1.3
// times at n 10,000, d 128; no difference at 100,000.
constexpr std::int64_t near_bytes = 3 << 20;
// Bytes of neighbours that all queries keep between ranges of the points.
constexpr std::int64_t kept_bytes = 256 << 20;
// A query with more candidates than n over max_share (or these few) is left to the next filter, or scanned: refining a
// candidate costs several times what scanning a point does.
constexpr double max_share = 20;
constexpr std::int64_t few_candidates = 1024;
// One with coarse panels that reads more rows than most_read_share of n (or these few) as well.
constexpr double few_rows_read = 1024;
// Groups of 32 points between two looks at the progress: so many, or so much work in multiply-adds.
constexpr std::int64_t max_groups_per_report = 256, work_per_report = 1 << 27;

// Panels against packed queries.
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
                         [&](std::int64_t first, std::int64_t here, const std::uint32_t* hits, const float* values) {
                             // Few panels have a hit at all.
                             if (!known) points = search_.candidates_of(panel, p * panel_points);
                             known = true;
                             for (std::int64_t i = 0; i < here; ++i)
                                 if (const std::uint32_t lanes = hits[i] & points)
                                     offer(first + i, p, panel, lanes, values + i * panel_points);
                         });
    }

    // Thresholds are read anew for each panel.
    void follow() {}

private:
    void offer(std::int64_t i, std::int64_t p, const float* panel, std::uint32_t hits, const float* values) {
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

// What a search takes one thread, by half or twice: Zen 5, AVX-512, n 1,000 to 100,000, d 16 and 128, q 1 to 100, k 10.
machine::ThreadPool::Cost cost(std::int64_t n, std::int64_t q, std::int64_t d) {
    constexpr double per_query = 3, per_pair = 0.3e-3, per_value = 0.015e-3;
    const auto queries = static_cast<double>(q), points = static_cast<double>(n), values = static_cast<double>(d);
    return machine::ThreadPool::Cost(queries * (per_query + points * (per_pair + per_value * values)));
}
// A search of less is left to one thread: it would take two about as long.
constexpr machine::ThreadPool::Cost least_to_share{8};

// The schedule of tasks: blocks of queries x ranges of the points.
struct TaskSchedule {
    std::int64_t block, blocks;  // queries per block, blocks
    std::int64_t groups;         // groups of 32 points
    std::int64_t ranges;         // ranges of groups, for few blocks
};

// `tile`: queries to be kept together where there are enough for every task, 0 for none.
TaskSchedule make_schedule(std::int64_t n, std::int64_t q, std::int64_t tile, std::int64_t block, std::int64_t k,
                           int threads) {
    const std::int64_t tasks = threads > 1 ? 2 * threads : 1;
    const auto share = [q](std::int64_t parts) { return (q + parts - 1) / parts; };
    TaskSchedule c;
    c.block = tile > 0 && q >= tasks * tile ? (share(tasks) + tile - 1) / tile * tile : share(threads);
    c.block = std::clamp<std::int64_t>(c.block, 1, block);
    c.blocks = (q + c.block - 1) / c.block;
    c.groups = (n + panel_points - 1) / panel_points;
    const std::int64_t most = std::max<std::int64_t>(kept_bytes / TopK::bytes(k) / q, 1);
    c.ranges = std::min({(tasks + c.blocks - 1) / c.blocks, c.groups, most});
    return c;
}

// So many queries are tried at least before a filter is given up for all that follow.
constexpr std::int64_t min_tried = 64;
// Of so many queries a few, all over them, are tried with a projection first: they may be unlike the points, whose
// sample has said that it pays.
constexpr std::size_t least_piloted = 512, pilots = 64;
// So many queries are worth guessing thresholds: of fewer the first, which try it, are too large a share.
constexpr std::int64_t least_guessed = 1024;
// Packing points takes as long as reading all rows behind a projection does for some hundred queries, and as scanning
// does for some thirty: it is spared until so many readings have been spent instead, of which a scan takes a few.
constexpr std::int64_t most_spared = 64, readings_of_scan = 4;
// So many queries with too many ties are worth counting equal rows, which costs about what scanning ten does (400,000
// x 64); so many queries are worth asking a sample before.
constexpr std::size_t worth_counting = 4;
constexpr std::int64_t worth_sampling = 256;

using Numbers = std::vector<std::int64_t>;  // of queries, ascending

// `rest` takes the place of `some` among `all`.
void replace(Numbers& all, const Numbers& some, const Numbers& rest) {
    std::erase_if(all, [&](std::int64_t q) { return std::binary_search(some.begin(), some.end(), q); });
    all.insert(all.end(), rest.begin(), rest.end());
    std::sort(all.begin(), all.end());
}

// What has happened to each query of a search; any thread.
using Causes = std::vector<std::atomic<exact::Cause>>;

void raise(std::atomic<exact::Cause>& to, exact::Cause cause) {
    exact::Cause known = to;
    while (known < cause && !to.compare_exchange_weak(known, cause)) {
    }
}

// Answers queries `numbers`, and returns those without an answer. `make_filter(shortlist, count)` prepares a block's
// queries, evaluates groups for them and follows thresholds.
template <class MakeFilter>
Numbers search_blocks(const Search& s, const Numbers& numbers, const TaskSchedule& c, int threads,
                      ProgressMeter& progress, const Results& results, Report& report, Causes& causes,
                      const MakeFilter& make_filter) {
    const std::int64_t n = s.points.rows.rows, q = static_cast<std::int64_t>(numbers.size());
    std::vector<std::vector<TopK>> partial(static_cast<std::size_t>(c.ranges > 1 ? c.blocks * c.ranges : 0));
    std::vector<std::atomic<bool>> unanswered(static_cast<std::size_t>(q));
    std::vector<double> distance_keys(static_cast<std::size_t>(c.blocks * c.ranges));
    std::atomic<std::int64_t> tried{0}, given_up{0};
    const auto answer = [&](std::int64_t task, int worker) {
        const std::int64_t first = task / c.ranges * c.block, here = std::min(c.block, q - first);
        const std::int64_t range = task % c.ranges;
        const std::int64_t begin = range * c.groups / c.ranges, groups = (range + 1) * c.groups / c.ranges - begin;
        const auto points_of = [&](std::int64_t g) {
            return std::min<std::int64_t>(panel_points, n - (begin + g) * panel_points);
        };
        const bool hopeless = c.ranges == 1 && tried >= min_tried && 2 * given_up > tried;
        Shortlist list(s, numbers.data() + first, here);
        auto block_filter = make_filter(list, here);
        const std::int64_t stride = block_filter.stride(groups);
        const std::int64_t group_work = panel_points * here * s.points.rows.cols;
        const auto groups_per_report = std::clamp<std::int64_t>(work_per_report / group_work, 1, max_groups_per_report);
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
            const bool answered = list.has_nan(i) || list.alike(i) || (list.filtered(i) && !hopeless);
            raise(causes[static_cast<std::size_t>(numbers[static_cast<std::size_t>(first + i)])],
                  answered || !list.filtered(i) ? list.cause(i) : exact::Cause::not_tried);
            tried += 1;
            if (!answered) {
                given_up += 1;
                unanswered[static_cast<std::size_t>(first + i)] = true;
            }
            if (c.ranges > 1) partial[static_cast<std::size_t>(task)].push_back(std::move(list.best(i)));
            else if (answered) results.put(numbers[static_cast<std::size_t>(first + i)], list.best(i));
        }
    };
    watched_tasks(threads, c.blocks * c.ranges, progress, "search", answer, cost(n, q, s.points.rows.cols));
    Numbers left;
    if (progress.cancelled()) return left;
    for (std::int64_t i = 0; i < q; ++i) {
        const std::int64_t number = numbers[static_cast<std::size_t>(i)];
        if (unanswered[static_cast<std::size_t>(i)]) {
            left.push_back(number);
            continue;
        }
        if (c.ranges == 1) continue;
        const auto best_of = [&](std::int64_t range) -> TopK& {
            return partial[static_cast<std::size_t>(i / c.block * c.ranges + range)]
                          [static_cast<std::size_t>(i % c.block)];
        };
        for (std::int64_t r = 1; r < c.ranges; ++r) best_of(0).merge(best_of(r));
        results.put(number, best_of(0));
    }
    for (const double count : distance_keys) report.candidates += count;
    return left;
}

// Runs the filter of that rounding on queries `numbers`, of which `left` are without an answer; false where the points
// have none.
bool filter_with(Rounding rounding, const Search& search, const Numbers& numbers, const Plan& plan,
                 ProgressMeter& progress, const Results& results, Report& report, Causes& causes, Numbers& left) {
    const std::int64_t n = search.points.rows.rows, q = static_cast<std::int64_t>(numbers.size());
    const int threads = cost(n, q, search.points.rows.cols) < least_to_share ? 1 : std::max(plan.threads, 1);
    Search s = search;
    const auto limit_candidates = [&s, n](std::int64_t ranges) {
        s.max_candidates = std::max(static_cast<double>(n) / max_share / static_cast<double>(ranges),
                                    static_cast<double>(8 * s.k + few_candidates));
        if (!s.read_all)
            s.max_rows_read =
                std::max(most_read_share * static_cast<double>(n) / static_cast<double>(ranges), few_rows_read);
    };
    if (q <= max_row_queries && !is_coarse(rounding) && !s.points.packed(s.isa, rounding) &&
        row_filter_serves(s.points, s.queries)) {
        const TaskSchedule c = make_schedule(n, q, 0, max_row_queries, s.k, threads);
        limit_candidates(c.ranges);
        left = search_blocks(s, numbers, c, threads, progress, results, report, causes,
                             [&](Shortlist& list, std::int64_t count) { return RowFilter(s, list, count); });
        return true;
    }
    const Filter* filter = s.points.filter(s.isa, threads, rounding, progress, plan.forced);
    if (!filter) return false;
    const Tiles& tiles = filter->tiles(tile_kernels(s.isa));
    const std::int64_t width = tiles.queries;
    std::int64_t block =
        std::clamp<std::int64_t>(block_bytes / (4 * filter->words()) / width, 1, max_block_tiles) * width;
    if (is_coarse(rounding)) block = coarse_query_block / width * width;
    if (plan.query_tile > 0) block = std::min(block, plan.query_tile);
    const bool near = 4 * filter->words() * n <= near_bytes;
    const TaskSchedule c = make_schedule(n, q, near ? tiles.worthwhile() : 0, block, s.k, threads);
    limit_candidates(c.ranges);
    // Each range has first points of its own, too few of them.
    if (c.ranges > 1) s.guesses = nullptr;
    const auto search_with = [&]<class BlockFilter>(std::type_identity<BlockFilter>) {
        left = search_blocks(s, numbers, c, threads, progress, results, report, causes,
                             [&](Shortlist& list, std::int64_t count) { return BlockFilter(s, *filter, list, count); });
    };
    if (is_coarse(rounding)) search_with(std::type_identity<CoarseFilter>{});
    else search_with(std::type_identity<PanelFilter>{});
    return true;
}

// Those of `queries` for that reason.
Numbers with_cause(exact::Cause cause, const Numbers& queries, const Causes& causes) {
    Numbers out;
    for (const std::int64_t query : queries)
        if (causes[static_cast<std::size_t>(query)] == cause) out.push_back(query);
    return out;
}

// `scanned`, in order, are queries that were; the others were retried where there was a cause.
void count_causes(const Causes& causes, const Numbers& scanned, Report& report) {
    // Those that were not tried are so for the sake of those that were given up.
    std::array<std::int64_t, exact::cause_count> given_up{};
    for (const std::atomic<exact::Cause>& cause : causes)
        if (cause > exact::Cause::not_tried) ++given_up[static_cast<std::size_t>(cause.load())];
    const auto most = static_cast<exact::Cause>(std::max_element(given_up.begin(), given_up.end()) - given_up.begin());
    exact::Fallbacks fallbacks;
    auto next = scanned.begin();
    for (std::size_t query = 0; query < causes.size(); ++query) {
        const bool is_scanned = next != scanned.end() && *next == static_cast<std::int64_t>(query);
        if (is_scanned) ++next;
        const exact::Cause known = causes[query];
        const exact::Cause cause = known == exact::Cause::not_tried ? most : known;
        ++(is_scanned ? report.scanned : cause != exact::Cause::none ? report.retried : report.certified);
        fallbacks.add(cause, is_scanned);
    }
    fallbacks.describe(report);
}

}  // namespace

bool filter_search(const Points& points, const MatrixView& queries, bool graph, Isa isa, const Plan& plan,
                   ProgressMeter& progress, const Results& results, Report& report) {
    const std::int64_t n = points.rows.rows;
    const int threads = std::max(plan.threads, 1);
    Search s{points, queries, std::min(results.k(), n), graph, isa, points.known_repeats()};
    if (queries.rows >= worth_sampling) s.repeats = points.likely_repeats(threads, progress);
    Numbers left(static_cast<std::size_t>(queries.rows));
    std::iota(left.begin(), left.end(), std::int64_t{0});
    Causes causes(left.size());
    const Rounding own = points.rounding(plan.path, queries, isa);
    Rounding used = own;
    bool any = false;
    // Queries `numbers` of those that the filter answers are answered; false where the points have no such filter.
    const auto filter_some = [&](Rounding rounding, const Numbers& numbers, Numbers& after) {
        if (numbers.empty() || progress.cancelled() ||
            !filter_with(rounding, s, numbers, plan, progress, results, report, causes, after))
            return false;
        // It has counted the pairs of queries that it leaves.
        progress.add(-static_cast<double>(n) * static_cast<double>(after.size()));
        return true;
    };
    const metric::Traits& traits = metric_kernels(points.metric.id, isa).traits;
    const metric::Gemm form = metric::product_form(traits);
    const std::int64_t spared_before = points.spared();
    // Whether packing the points for so few queries, which a filter has left, takes longer than answering them without,
    // each in that many readings of the rows. Logarithms are as long as many.
    const auto spared = [&](Rounding rounding, std::int64_t readings) {
        const bool by_rows = left.size() <= max_row_queries && row_filter_serves(points, queries);
        return any && form != metric::Gemm::cross_entropy && !points.packed(isa, rounding) && !by_rows &&
               spared_before + std::ssize(left) * readings <= most_spared;
    };
    // Filters what is left; false where the points have no such filter, or it is spared.
    const auto filter = [&](Rounding rounding) {
        if (spared(rounding, readings_of_scan)) return false;
        Numbers after;
        Guesses guesses(queries.rows);
        if (std::ssize(left) >= least_guessed) s.guesses = &guesses;
        const bool filtered = filter_some(rounding, left, after);
        s.guesses = nullptr;
        if (!filtered) return false;
        const Numbers wrong = guesses.wrong(after);
        Numbers still;
        if (filter_some(rounding, wrong, still)) replace(after, wrong, still);
        left = std::move(after);
        used = rounding;
        return any = true;
    };
    // Filters with coarse panels, of many queries a few first; false where these do not answer most of those that they
    // have been tried with, now or before.
    const auto coarse = [&] {
        Numbers first = left, rest;
        if (left.size() >= least_piloted) {
            const std::size_t step = left.size() / pilots;
            first.clear();
            for (std::size_t i = 0; i < left.size(); ++i) (i % step == 0 ? first : rest).push_back(left[i]);
        }
        Numbers after;
        for (const Numbers* some : {&first, &rest}) {
            if (some->empty()) continue;
            left = *some;
            if (plan.forced || points.record(isa, own).pays()) {
                filter(own);
                points.record(isa, own).note(std::ssize(*some), std::ssize(left));
            }
            after.insert(after.end(), left.begin(), left.end());
        }
        std::sort(after.begin(), after.end());
        left = std::move(after);
        return plan.forced || points.record(isa, own).pays();
    };
    const bool products = form != metric::Gemm::none;
    const bool both = products && traits.direct != metric::Direct::none;
    if (!is_coarse(own)) {
        filter(own);
    } else {
        const Rounding product = product_rounding(isa, points.rows.cols);
        if (!coarse()) {
            report.path = name(product == Rounding::bf16 ? Path::gemm_bf16 : Path::gemm_f32);
        } else if (spared(product, 1)) {
            const Numbers readers = with_cause(exact::Cause::directions, left, causes);
            Numbers after;
            s.read_all = true;
            if (filter_some(own, readers, after)) replace(left, readers, after);
            points.spared() += std::ssize(readers);
            s.read_all = false;
        }
        filter(product);
    }
    // Counts equal rows where ties say that there may be some; whether there are, to be left out from now on.
    Numbers ties;
    const auto finds_repeats = [&] {
        if (s.repeats || ties.size() >= worth_counting || progress.cancelled()) return false;
        ties = with_cause(exact::Cause::ties, left, causes);
        if (ties.size() >= worth_counting) s.repeats = points.repeats(threads, progress);
        return s.repeats != nullptr;
    };
    if (finds_repeats()) filter(used);
    // What only the error of narrower numbers hides, then what that of products does.
    if (products && (used == Rounding::bf16 ? any : own == Rounding::direct && !any)) filter(Rounding::f32);
    const bool found = finds_repeats();
    const bool direct = both && used != Rounding::direct && filter(Rounding::direct);
    if (found && !direct) filter(used);
    if (progress.cancelled()) return true;
    if (s.repeats) {
        for (const std::int64_t query : ties)
            if (!std::binary_search(left.begin(), left.end(), query))
                raise(causes[static_cast<std::size_t>(query)], exact::Cause::equal_rows);
    }
    if (!any) return false;
    points.spared() += std::ssize(left) * readings_of_scan;
    if (points.known_tree()) {
        search_tree(points, queries, left, graph, isa, threads, progress, results, report);
        left.clear();
    }
    scan(points, queries, left.data(), static_cast<std::int64_t>(left.size()), graph, isa, threads, progress, results);
    report.candidates += static_cast<double>(n) * static_cast<double>(left.size());
    count_causes(causes, left, report);
    return true;
}

}  // namespace kith::cpu
