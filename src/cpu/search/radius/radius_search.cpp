// A range search in waves of queries. Each wave goes through the filters of the chain and at last a
// scan in binary64, each on the queries that the ones before left; then its rows are sorted and
// delivered. The size of a wave follows from the lists of the waves before; a wave with larger
// lists is cut.
#include "cpu/search/radius/radius_search.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <numeric>
#include <vector>

#include "cpu/filter/tile/tile.h"
#include "cpu/metric/kernels.h"
#include "cpu/search/radius/radius_levels.h"
#include "exact/report/fallbacks.h"
#include "exact/report/watched.h"
#include "strategy/trace.h"

namespace kith::cpu {

namespace {

// A query that rescores more than n / max_share candidates in vain, but at least few_candidates, is
// left to the next filter or to the full scan.
constexpr double max_share = 20, few_candidates = 1024;
constexpr std::int64_t rows_per_task = 16;
// The least queries of the first wave, whose lists are unknown: one tile in matrix registers, or a
// little more than two tiles in vector registers. Lists beyond the budget cut the wave.
constexpr std::int64_t least_first_wave = 32;
// Queries of the first wave if a tree may turn out to prune too little.
constexpr std::int64_t tree_tried = 512;

using strategy::Causes, strategy::Chain, strategy::Numbers, strategy::raise;

// Rows [first, first + size) of the answer: lists or counts.
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

// The neighbours that the lists of a wave may hold. Safe for concurrent use.
class Budget {
public:
    explicit Budget(std::int64_t most) : most_(most) {}
    // Sets the neighbours held. Call it before a wave and after a level, while no other thread uses
    // the budget. `bounded` false: the wave is completed however many it holds.
    void set(std::int64_t held, bool bounded) {
        held_ = held;
        bounded_ = bounded;
        spent_ = bounded && held > most_;
    }
    void add(std::int64_t listed) {
        if (held_.fetch_add(listed, std::memory_order_relaxed) + listed > most_ && bounded_)
            spent_ = true;
    }
    bool spent() const { return spent_.load(std::memory_order_relaxed); }
    // Neighbours between two reports to the budget: a small share of it.
    std::int64_t grain() const { return std::clamp<std::int64_t>(most_ / 64, 1, 1 << 14); }

private:
    std::int64_t most_;
    bool bounded_ = false;
    std::atomic<std::int64_t> held_ = 0;
    std::atomic<bool> spent_ = false;
};

// The result of a block in one range of the points.
struct Part {
    std::vector<std::vector<Neighbor>> lists;
    std::vector<std::int64_t> counts;
    std::vector<exact::Cause> causes;
    std::vector<char> answered;
    double evaluated = 0;
    bool ended = false;
};

// Answers queries `numbers` of a wave, and returns those that the level leaves. If the budget is
// spent, the wave is cut to the rows before the first block that did not end.
Numbers run_level(RadiusLevel& level, const RadiusSearch& search, const Numbers& numbers,
                  int threads, ProgressMeter& progress, Budget& budget, Wave& wave, Causes& causes,
                  Report& report) {
    const auto q = static_cast<std::int64_t>(numbers.size());
    const std::int64_t n = search.points.rows.rows;
    const RadiusSchedule c = level.schedule(q, threads);
    RadiusSearch s = search;
    s.max_needless = std::max(static_cast<double>(n) / max_share, few_candidates) /
                     static_cast<double>(c.ranges);
    std::vector<Part> parts(static_cast<std::size_t>(c.blocks * c.ranges));
    watched_tasks(threads, c.blocks * c.ranges, progress, "search",
                  [&](std::int64_t task, int worker) {
                      const std::int64_t first = task / c.ranges * c.block,
                                         here = std::min(c.block, q - first);
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
                      level.evaluate(block, here, range * c.tiles / c.ranges,
                                     (range + 1) * c.tiles / c.ranges, go_on);
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
    const auto open =
        std::find_if(parts.begin(), parts.end(), [](const Part& part) { return !part.ended; });
    const std::int64_t ended =
        open == parts.end() ? q : (open - parts.begin()) / c.ranges * c.block;
    if (ended < q) wave.cut(numbers[static_cast<std::size_t>(ended)] - wave.first);
    for (std::int64_t i = 0; i < ended; ++i) {
        const std::int64_t number = numbers[static_cast<std::size_t>(i)];
        const auto row = static_cast<std::size_t>(number - wave.first),
                   at = static_cast<std::size_t>(i % c.block);
        Part* const of_row = parts.data() + i / c.block * c.ranges;
        bool answered = true;
        for (std::int64_t r = 0; r < c.ranges; ++r) {
            answered = answered && of_row[r].answered[at];
            raise(causes[static_cast<std::size_t>(number)], of_row[r].causes[at]);
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
            wave.lists[row].insert(wave.lists[row].end(), of_row[r].lists[at].begin(),
                                   of_row[r].lists[at].end());
            of_row[r].lists[at] = {};
        }
    }
    level.tried += ended;
    level.given_up += static_cast<std::int64_t>(left.size());
    progress.add(-static_cast<double>(n) * static_cast<double>(left.size()));
    return left;
}

// Sorts the rows of a wave and delivers them.
void hand_on(const Points& points, const RadiusRequest& request, Wave& wave, int threads,
             ProgressMeter& progress) {
    const auto rows = static_cast<std::int64_t>(wave.lists.size());
    std::vector<std::int64_t> offsets(wave.lists.size() + 1, 0);
    std::partial_sum(wave.counts.begin(), wave.counts.end(), offsets.begin() + 1);
    const auto total = static_cast<std::size_t>(offsets.back());
    std::vector<std::int64_t> ids(total);
    std::vector<float> distances(request.f64 ? 0 : total);
    std::vector<double> distances64(request.f64 ? total : 0);
    const ReportedDistance reported =
        request.keys ? ReportedDistance() : ReportedDistance(points.metric);
    watched_for(threads, rows, rows_per_task, progress, "search",
                [&](std::int64_t first, std::int64_t last) {
                    for (std::int64_t i = first; i < last; ++i) {
                        std::vector<Neighbor> row =
                            std::move(wave.lists[static_cast<std::size_t>(i)]);
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
    (*request.take)({wave.first, rows, offsets.data(), ids.data(),
                     request.f64 ? nullptr : distances.data(),
                     request.f64 ? distances64.data() : nullptr});
}

// The waves of a search. Each goes through the steps of the chain until none of its queries is
// left.
class Waves {
public:
    Waves(const Points& points, const RadiusRequest& request, const Plan& plan,
          ProgressMeter& progress, Report& report)
        : request_(request),
          progress_(progress),
          report_(report),
          threads_(std::max(plan.threads, 1)),
          search_{points,
                  request.queries,
                  request.radii,
                  request.open,
                  request.graph,
                  request.first_own,
                  request.counts != nullptr,
                  isa_named(plan.isa)},
          most_(static_cast<double>(request.list_bytes) / row_bytes(request)),
          budget_(static_cast<std::int64_t>(most_)),
          call_{points, search_.isa, threads_, plan.query_tile, budget_.grain(), progress},
          steps_(steps_of(outline(points, request, plan))),
          chain_(request.queries.rows, own_),
          none_asked_(plan.path == Path::exact) {
        const auto n = static_cast<double>(points.rows.rows);
        // most_ / n lists fit into the budget whatever they hold.
        rows_ = request.counts ? static_cast<double>(request.queries.rows)
                               : std::max(most_ / n, static_cast<double>(least_first_wave));
        if (plan.path == Path::tree) rows_ = std::min(rows_, static_cast<double>(tree_tried));
    }

    void run() {
        const std::int64_t q = request_.queries.rows;
        for (std::int64_t first = 0; first < q && !progress_.cancelled();) {
            const auto wanted =
                static_cast<std::int64_t>(std::min(rows_, static_cast<double>(q - first)));
            const std::int64_t count = wave(first, wanted);
            if (progress_.cancelled()) return;
            if (count == 0) rows_ = std::max(static_cast<double>(wanted) / 4, 1.0);
            first += count;
        }
        fallbacks_.describe(report_);
        report_.certified += own_.certified;
        report_.retried += own_.retried;
        report_.scanned += own_.scanned;
        if (report_.trace.empty()) report_.trace = std::move(own_.trace);
        else strategy::add(own_.trace, report_.trace);
        if (chain_.winner()) report_.path = name(chain_.winner()->path);
    }

private:
    struct Made {
        std::unique_ptr<RadiusLevel> level;
        bool asked = false;
    };

    // Bytes of a neighbour: in its list, and in the delivered rows.
    static double row_bytes(const RadiusRequest& request) {
        return sizeof(Neighbor) + sizeof(std::int64_t) + (request.f64 ? 8 : 4);
    }

    static Outline outline(const Points& points, const RadiusRequest& request, const Plan& plan) {
        const Isa isa = isa_named(plan.isa);
        return {.task = strategy::Task::within,
                .plan = plan,
                .metric = points.metric.id,
                .traits = metric_traits(points.metric.id),
                .type = points.rows.type,
                .queries = request.queries.rows,
                .d = points.rows.cols,
                .bf16 = pair_kernels(isa) != nullptr,
                .bytes = byte_kernels(isa) != nullptr,
                .has_tree = points.known_tree() != nullptr};
    }

    // True if the condition of a step holds.
    bool holds(const ChainStep& step) const {
        if (step.when == When::made) return call_.points.known_tree() != nullptr;
        if (step.when == When::uncovered) return !any_filter_;
        return (step.when != When::finer && step.when != When::differences) || any_filter_;
    }

    // The level of a step, made when the first query comes to it. Null if it has none.
    RadiusLevel* level(const ChainStep& step) {
        Made& made = levels_[static_cast<std::size_t>(&step - steps_.begin())];
        if (!made.asked && step.strategy->within) {
            call_.when = step.when;
            made.level = step.strategy->within(call_);
            const bool filter =
                step.strategy != listed("tree") && step.strategy != &strategies::exact;
            any_filter_ = any_filter_ || (filter && made.level);
        }
        if (!made.asked && !made.level)
            chain_.decline(step.strategy->facts, step.strategy->within
                                                     ? "its bound does not cover the points"
                                                     : "serves a number of neighbours");
        made.asked = true;
        return made.level.get();
    }

    // Searches queries [first, first + wanted). Returns the number of leading ones that are
    // answered and delivered.
    std::int64_t wave(std::int64_t first, std::int64_t wanted) {
        const double done = progress_.done();
        Wave wave;
        wave.first = first;
        wave.counts.resize(static_cast<std::size_t>(wanted));
        if (!request_.counts) wave.lists.resize(static_cast<std::size_t>(wanted));
        const bool bounded = !request_.counts && wanted > 1;
        budget_.set(0, bounded);
        chain_.begin(first, wanted);
        Numbers last;
        bool scans = false;
        for (const ChainStep& step : steps_) {
            if (chain_.done() || progress_.cancelled()) break;
            const bool is_last = step.when == When::made || &step + 1 == steps_.end();
            chain_.at(static_cast<int>(&step - steps_.begin()));
            if (!holds(step)) continue;
            RadiusLevel* const level = this->level(step);
            if (!level) continue;
            if (!is_last && level->hopeless()) {
                for (const std::int64_t query : chain_.left())
                    raise(chain_.causes()[static_cast<std::size_t>(query)],
                          exact::Cause::not_tried);
                continue;
            }
            if (is_last) last = chain_.left();
            if (is_last) scans = step.when != When::made;
            chain_.attempt(
                step.strategy->facts, step.takes, [&](const strategy::Queries&, Numbers& after) {
                    after = run_level(*level, search_, chain_.left(), threads_, progress_, budget_,
                                      wave, chain_.causes(), report_);
                    return nullptr;
                });
            budget_.set(wave.listed(), bounded);
        }
        if (progress_.cancelled()) return 0;
        const auto count = static_cast<std::int64_t>(wave.counts.size());
        const double n = static_cast<double>(search_.points.rows.rows);
        progress_.add(done + n * static_cast<double>(count) - progress_.done());
        const exact::Cause no_reason =
            any_filter_ || none_asked_ ? exact::Cause::none : exact::Cause::no_filter;
        chain_.tally(count, last, scans, no_reason, exact::Cause::not_tried, fallbacks_);
        chain_.commit(count);
        if (count > 0) deliver(wave, first + count);
        return count;
    }

    // Delivers the rows of a wave, and sets rows_, the size of the next wave. `over`: the queries
    // answered so far, this wave included.
    void deliver(Wave& wave, std::int64_t over) {
        if (request_.counts) {
            std::copy(wave.counts.begin(), wave.counts.end(), request_.counts + wave.first);
            return;
        }
        const auto listed = static_cast<double>(wave.listed()),
                   these = static_cast<double>(wave.counts.size());
        hand_on(search_.points, request_, wave, threads_, progress_);
        // Later rows may be longer than those so far.
        constexpr double growth = 4, reserve = 2;
        handed_on_ += listed;
        const double mean = std::max({handed_on_ / static_cast<double>(over), listed / these, 1.0});
        rows_ = std::max(1.0, std::min(most_ / mean / reserve, growth * these));
    }

    const RadiusRequest& request_;
    ProgressMeter& progress_;
    Report& report_;
    Report own_;  // for this call alone: counters and trace
    int threads_;
    RadiusSearch search_;
    double most_;  // neighbours
    Budget budget_;
    RadiusCall call_;
    Steps steps_;
    Chain chain_;
    bool none_asked_, any_filter_ = false;
    std::array<Made, Steps::most> levels_;
    exact::Fallbacks fallbacks_;
    double rows_ = 0, handed_on_ = 0;
};

}  // namespace

void radius_search(const Points& points, const RadiusRequest& request, const Plan& plan,
                   ProgressMeter& progress, Report& report) {
    Waves(points, request, plan, progress, report).run();
}

}  // namespace kith::cpu
