// A k-nearest-neighbour search on the CPU: runs the steps of the chain until no query is left.
#include <algorithm>
#include <string>

#include "cpu/backend.h"
#include "cpu/filter/tile/tile.h"
#include "cpu/metric/kernels.h"
#include "cpu/search/filter_search.h"
#include "cpu/search/panel_facts.h"
#include "cpu/search/row_filter.h"
#include "cpu/tuning.h"
#include "exact/report/fallbacks.h"

namespace kith::cpu {

namespace {

using strategy::Chain, strategy::Numbers, strategy::Queries, strategy::raise;

// From worth_counting queries with too many ties on, duplicate rows are counted, which costs about
// as much as scanning ten queries (400,000 x 64). From worth_sampling queries on, a sample of the
// points is asked for duplicate rows beforehand.
constexpr std::size_t worth_counting = 4;
constexpr std::int64_t worth_sampling = 256;
// A scan takes as long as this many passes over all rows (see filter_search.cpp).
constexpr std::int64_t readings_of_scan = 4;

constexpr const Strategy* rows_strategy = listed("rows");

class NearestDriver {
public:
    NearestDriver(const Points& points, const MatrixView& queries, bool graph, const Plan& plan,
                  ProgressMeter& progress, const Results& results, Report& report, bool only)
        : isa_(isa_named(plan.isa)),
          traits_(metric_traits(points.metric.id)),
          chain_(queries.rows, report),
          call_{.points = points,
                .queries = queries,
                .graph = graph,
                .only = only,
                .plan = plan,
                .isa = isa_,
                .threads = std::max(plan.threads, 1),
                .query_tile = filter_tile(plan, {.d = points.rows.cols}).queries,
                .progress = progress,
                .results = results,
                .report = report,
                .chain = chain_,
                .search = {points, queries, std::min(results.k(), points.rows.rows), graph, isa_,
                           points.known_repeats()},
                .spared_before = points.spared()} {}

    void run() {
        const Steps steps = steps_of({.plan = call_.plan,
                                      .metric = call_.points.metric.id,
                                      .traits = traits_,
                                      .type = type(),
                                      .queries = call_.queries.rows,
                                      .d = call_.points.rows.cols,
                                      .bf16 = pair_kernels(call_.isa) != nullptr,
                                      .bytes = byte_kernels(call_.isa) != nullptr,
                                      .has_tree = call_.points.known_tree() != nullptr});
        for (const ChainStep* step = steps.begin(); step != steps.end(); ++step) {
            if (chain_.done() || call_.progress.cancelled()) break;
            call_.when = step->when;
            take(*step, step + 1 == steps.end() ? *step : step[1]);
        }
        if (!call_.progress.cancelled()) describe();
    }

private:
    // f64 if points and queries differ in type.
    ElementType type() const {
        const ElementType of_points = call_.points.rows.type, of_queries = call_.queries.type;
        return of_points == of_queries ? of_points : ElementType::f64;
    }

    // True if the strategy ran.
    bool attempt(const Strategy& strategy, strategy::CauseSet takes = strategy::CauseSet::all()) {
        return chain_.attempt(strategy.facts, takes, [&](const Queries& queries, Numbers& left) {
            return strategy.nearest(call_, queries, left);
        });
    }

    // Takes a step if its condition holds. `next`: the step after it.
    void take(const ChainStep& step, const ChainStep& next) {
        switch (step.when) {
            case When::first:
            case When::boxes:
            case When::few_keys:
                if (step.strategy == &strategies::exact) last(step);
                else if (is_panels(*step.strategy)) panels(*step.strategy);
                else if (step.strategy == rows_strategy) rows(Path::gemm_f32);
                else attempt(*step.strategy);
                return;
            case When::sample:
                begin_filters();
                attempt(*step.strategy);
                return;
            case When::instead:
                if (!call_.coarse) attempt(*step.strategy);
                return;
            case When::unlimited:
                if (call_.coarse && call_.coarse_pays) attempt(*call_.coarse, step.takes);
                return;
            case When::few_queries:
                few(next);
                return;
            case When::all_coordinates:
                panels(*step.strategy);
                return;
            case When::without_repeats:
                again();
                return;
            case When::finer:
                if (call_.used && call_.used == listed("gemm_bf16")) panels(*step.strategy);
                return;
            case When::uncovered:
                if (!call_.filtered()) panels(*step.strategy);
                return;
            case When::differences:
                found_ = finds_repeats();
                looked_ = true;
                direct_ran_ = panels(*step.strategy);
                return;
            case When::made:
                if (call_.points.known_tree()) last(step);
                return;
            case When::last:
                last(step);
                return;
        }
    }

    static bool is_panels(const Strategy& strategy) {
        return &strategy == listed("gemm_bf16") || &strategy == listed("gemm_f32") ||
               &strategy == listed("direct_f32");
    }

    // Call it before the first filter.
    void begin_filters() {
        if (begun_) return;
        begun_ = true;
        if (call_.queries.rows >= worth_sampling)
            call_.search.repeats = call_.points.likely_repeats(call_.threads, call_.progress);
    }

    // Compares the caller's own rows in place of the panels of a path. True if that ran.
    bool rows(Path in_place_of) {
        begin_filters();
        call_.path = in_place_of;
        const bool ran = attempt(*rows_strategy);
        if (ran) call_.ran(*rows_strategy, rounding_of(in_place_of));
        return ran;
    }

    void few(const ChainStep& next) {
        if (call_.by_rows) return;
        const Path panels = next.strategy->facts.path;
        if (rows_serve(call_, rounding_of(panels))) rows(panels);
        else if (chain_.count() <= max_row_queries && !call_.filtered())
            chain_.decline(rows_strategy->facts, "the points are packed");
    }

    bool panels(const Strategy& strategy) {
        begin_filters();
        const Path path = strategy.facts.path;
        if (is_listed(rows_strategy) && rows_serve(call_, rounding_of(path))) {
            if (!call_.by_rows) return rows(path);
            chain_.decline(strategy.facts, "rows serve so few queries");
            return false;
        }
        return attempt(strategy);
    }

    // Counts duplicate rows if enough queries were given up for ties. True if the points have some,
    // which are left out from now on.
    bool finds_repeats() {
        Search& s = call_.search;
        if (s.repeats || ties_.size() >= worth_counting || call_.progress.cancelled()) return false;
        ties_ = chain_.taken(strategy::CauseSet::of(exact::Cause::ties));
        if (ties_.size() >= worth_counting)
            s.repeats = call_.points.repeats(call_.threads, call_.progress);
        return s.repeats != nullptr;
    }

    // Repeats the filter that ran last, without the duplicate rows.
    void again() {
        const bool second = again_;
        again_ = true;
        if (second && !looked_) found_ = finds_repeats();
        const bool found = second ? found_ && !direct_ran_ : finds_repeats();
        if (found && call_.used) attempt(*call_.used);
    }

    // Runs the strategy that answers all queries left.
    void last(const ChainStep& step) {
        const bool asked = step.when == When::first;
        if (call_.filtered()) call_.points.spared() += chain_.count() * readings_of_scan;
        last_ = chain_.left();
        scans_ = step.strategy == &strategies::exact;
        no_reason_ = asked || call_.filtered() ? exact::Cause::none : exact::Cause::no_filter;
        attempt(*step.strategy);
    }

    void describe() {
        Report& report = call_.report;
        for (const std::int64_t query : ties_)
            if (call_.search.repeats && !std::binary_search(last_.begin(), last_.end(), query))
                raise(chain_.causes()[static_cast<std::size_t>(query)], exact::Cause::equal_rows);
        exact::Fallbacks fallbacks;
        chain_.tally(call_.queries.rows, last_, scans_, no_reason_, chain_.most(), fallbacks);
        fallbacks.describe(report);
        if (call_.tree_left && call_.filtered()) {
            // All queries count as retried or scanned: the tree had left them.
            report.retried += report.certified;
            report.certified = 0;
            const Path behind = call_.used == rows_strategy ? call_.path : call_.used->facts.path;
            report.fallbacks.insert(report.fallbacks.begin(),
                                    {call_.queries.rows, false,
                                     "a tree leaves out too few of the points for these queries",
                                     "path " + std::string(name(behind)) + " from the start"});
        }
        if (const strategy::Facts* const winner = chain_.winner())
            report.path =
                name(is_listed(rows_strategy) && winner == &rows_strategy->facts ? call_.path
                                                                                 : winner->path);
    }

    Isa isa_;
    metric::Traits traits_;
    Chain chain_;
    NearestCall call_;
    bool begun_ = false, again_ = false, looked_ = false, found_ = false, direct_ran_ = false;
    Numbers ties_, last_;
    bool scans_ = false;
    exact::Cause no_reason_ = exact::Cause::none;
};

}  // namespace

void search(const Points& points, const MatrixView& queries, bool graph, const Plan& plan,
            ProgressMeter& progress, const Results& results, Report& report, bool only) {
    if (queries.rows == 0) return;
    NearestDriver(points, queries, graph, plan, progress, results, report, only).run();
}

}  // namespace kith::cpu
