// A search on the CPU: the path of the plan.
#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "cpu/backend.h"
#include "cpu/filter/tuning.h"
#include "cpu/metric/kernels.h"
#include "cpu/search/filter_search.h"
#include "cpu/search/scan.h"
#include "cpu/search/selected_scan.h"
#include "cpu/search/tree_search.h"
#include "exact/fallbacks.h"

namespace kith::cpu {

namespace {

// The plan of the filter that takes the place of a tree, within the tree's workspace.
Plan filter_plan(const Plan& tree, const MetricSpec& metric, std::int64_t d) {
    Plan plan = tree;
    const metric::Traits& traits = metric_kernels(metric.id, Isa::baseline).traits;
    const bool products = metric::product_form(traits) != metric::Gemm::none,
               direct = traits.direct != metric::Direct::none && (!products || d <= direct_dimensions);
    plan.path = direct ? Path::direct_f32 : Path::gemm_f32;
    const double per_query = 24.0 * static_cast<double>(tree.candidate_capacity) + 16.0 * static_cast<double>(d);
    const double room = static_cast<double>(tree.workspace_bytes) / std::max(tree.threads, 1) - 4096;
    plan.query_tile =
        static_cast<std::int64_t>(std::clamp(room / per_query, 1.0, static_cast<double>(max_query_block)));
    return plan;
}

// Queries of a tree beside a filter's plan, at a time: coordinates, and what orders them.
std::int64_t tree_tile(std::int64_t queries, std::int64_t d) {
    constexpr std::int64_t bytes = std::int64_t{1} << 28;
    return std::clamp<std::int64_t>(bytes / (8 * d + 40), 1, queries);
}

// All `queries` have been retried, or scanned.
void describe_retries(std::int64_t queries, Path path, Report& report) {
    report.retried += report.certified;
    report.certified = 0;
    report.fallbacks.insert(report.fallbacks.begin(),
                            {queries, false, "a tree leaves out too few of the points for these queries",
                             "path " + std::string(name(path)) + " from the start"});
}

}  // namespace

void search(const Points& points, const MatrixView& queries, bool graph, const Plan& asked, ProgressMeter& progress,
            const Results& results, Report& report, bool only) {
    if (!asked.selector.empty() && queries.rows > 0) {
        selected_scan(points, queries, graph, asked, progress, results);
        report.scanned += queries.rows;
        report.candidates += static_cast<double>(queries.rows) * static_cast<double>(points.rows.rows);
        return;
    }
    const Isa isa = isa_named(asked.isa);
    // Where queries have been unlike the points too often, a tree that is made for what these are is not asked again.
    const bool by_boxes = points.boxes_pay && !asked.forced && (asked.tries_tree || asked.path == Path::tree),
               tree = queries.rows > 0 && (by_boxes ? points.tree_record().pays() : asked.path == Path::tree);
    if (tree) {
        Plan own = asked;
        if (asked.path != Path::tree) own.query_tile = tree_tile(queries.rows, points.rows.cols);
        const bool found = tree_search(points, queries, graph, isa, own, progress, results, report);
        points.tree_record().note(1, found ? 0 : 1);
        if (found) {
            report.path = name(Path::tree);
            return;
        }
    }
    Plan plan = asked.path == Path::tree ? filter_plan(asked, points.metric, points.rows.cols) : asked;
    if (is_coarse(rounding_of(plan.path)) && queries.rows > 0) {
        const Path served =
            points.served(plan.path, queries, isa, std::max(plan.threads, 1), progress, plan.forced, only && !graph);
        if (served != plan.path) report.path = name(served);
        plan.path = served;
    }
    if (plan.path != Path::exact && queries.rows > 0 &&
        filter_search(points, queries, graph, isa, plan, progress, results, report)) {
        if (tree) describe_retries(queries.rows, plan.path, report);
        return;
    }
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(queries.rows));
    std::iota(numbers.begin(), numbers.end(), std::int64_t{0});
    const int threads = std::max(plan.threads, 1);
    const bool any_tree = plan.path != Path::exact && points.known_tree();
    if (plan.path != Path::exact) {
        exact::Fallbacks fallbacks;
        fallbacks.add(exact::Cause::no_filter, !any_tree, queries.rows);
        fallbacks.describe(report);
    }
    if (any_tree) {
        search_tree(points, queries, numbers, graph, isa, threads, progress, results, report);
        report.retried += queries.rows;
        return;
    }
    scan(points, queries, numbers.data(), queries.rows, graph, isa, threads, progress, results);
    report.scanned += queries.rows;
    report.candidates += static_cast<double>(queries.rows) * static_cast<double>(points.rows.rows);
}

}  // namespace kith::cpu
