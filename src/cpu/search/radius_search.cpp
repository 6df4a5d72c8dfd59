// Waves of queries: each passes a filter, what that leaves the next, at last a scan in binary64; then its rows are
// sorted and handed on. A wave is as large as the lists of those before let expect, and cut where they hold more.
#include "cpu/search/radius_search.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <vector>

#include "cpu/search/radius_levels.h"
#include "exact/fallbacks.h"
#include "exact/watched.h"

namespace kith::cpu {

namespace {

// A query with more candidates in vain than n over max_share (or these few) is left to the next filter, or scanned.
constexpr double max_share = 20, few_candidates = 1024;
constexpr std::int64_t rows_per_task = 16;
// Queries of the first wave at least, of whose lists nothing is known: as many as a tile in matrix registers takes, two
// and a bit of those in vector registers. Their lists are cut where they hold more than they may.
constexpr std::int64_t least_first_wave = 32;
// Queries of the first wave where a tree may turn out to leave out too little.
constexpr std::int64_t tree_tried = 512;

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
Numbers run_level(RadiusLevel& level, const RadiusSearch& search, const Numbers& numbers, int threads,
                  ProgressMeter& progress, Budget& budget, Wave& wave, std::vector<exact::Cause>& causes,
                  Report& report) {
    const auto q = static_cast<std::int64_t>(numbers.size());
    const std::int64_t n = search.points.rows.rows;
    const RadiusSchedule c = level.schedule(q, threads);
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
    const ReportedDistance reported = request.keys ? ReportedDistance() : ReportedDistance(points.metric);
    watched_for(threads, rows, rows_per_task, progress, "search", [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t i = first; i < last; ++i) {
            std::vector<Neighbor> row = std::move(wave.lists[static_cast<std::size_t>(i)]);
            std::sort(row.begin(), row.end());
            auto at = static_cast<std::size_t>(offsets[static_cast<std::size_t>(i)]);
            for (const Neighbor& found : row) {
                const double distance = reported(found.rank);
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
    const RadiusSearch search{points,
                              request.queries,
                              request.radii,
                              request.open,
                              request.graph,
                              request.first_own,
                              request.counts != nullptr,
                              isa};
    // Of a neighbour: in its list, and as it is handed on.
    const double row_bytes = sizeof(Neighbor) + sizeof(std::int64_t) + (request.f64 ? 8 : 4);
    const double most = static_cast<double>(request.list_bytes) / row_bytes;
    Budget budget(static_cast<std::int64_t>(most));
    RadiusLevels levels(points, plan, budget.grain(), progress);
    std::vector<exact::Cause> causes(static_cast<std::size_t>(q), exact::Cause::none);
    exact::Fallbacks fallbacks;
    // The lists of so many rows are expected to fit; of the first wave, whatever they hold.
    double rows = request.counts ? static_cast<double>(q)
                                 : std::max(most / static_cast<double>(n), static_cast<double>(least_first_wave));
    if (levels.begin_with_a_tree()) rows = std::min(rows, static_cast<double>(tree_tried));
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
            RadiusLevel* const level = levels.at(at);
            if (!level) break;
            if (level->hopeless()) {
                for (const std::int64_t query : left)
                    causes[static_cast<std::size_t>(query)] =
                        std::max(causes[static_cast<std::size_t>(query)], exact::Cause::not_tried);
                continue;
            }
            left = run_level(*level, search, left, threads, progress, budget, wave, causes, report);
            budget.set(wave.listed(), bounded);
        }
        if (progress.cancelled()) return;
        const Numbers rest = left;
        if (!left.empty()) run_level(levels.last(), search, left, threads, progress, budget, wave, causes, report);
        if (progress.cancelled()) return;
        const auto count = static_cast<std::int64_t>(wave.counts.size());
        // Queries beyond the cut are begun anew.
        std::fill(causes.begin() + first + count, causes.begin() + first + wanted, exact::Cause::none);
        progress.add(done + static_cast<double>(n) * static_cast<double>(count) - progress.done());
        if (count == 0) {
            rows = std::max(static_cast<double>(wanted) / 4, 1.0);
            continue;
        }
        auto next = rest.begin();
        for (std::int64_t query = first; query < first + count; ++query) {
            const bool is_left = next != rest.end() && *next == query, is_scanned = is_left && levels.scans();
            if (is_left) ++next;
            exact::Cause cause = causes[static_cast<std::size_t>(query)];
            if (is_left) cause = std::max(cause, levels.no_reason());
            if (is_scanned) ++report.scanned;
            else if (cause == exact::Cause::none) ++report.certified;
            else ++report.retried;
            if (cause != exact::Cause::none) fallbacks.add(cause, is_scanned);
        }
        if (request.counts) {
            std::copy(wave.counts.begin(), wave.counts.end(), request.counts + first);
            rows = static_cast<double>(q);
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
