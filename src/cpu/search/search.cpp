// A search on the CPU: the path of the plan.
#include <algorithm>
#include <numeric>
#include <vector>

#include "cpu/backend.h"
#include "cpu/search/filter_search.h"
#include "cpu/search/scan.h"
#include "exact/fallbacks.h"

namespace kith::cpu {

void search(const Points& points, const MatrixView& queries, bool graph, const Plan& plan, ProgressMeter& progress,
            const Results& results, Report& report) {
    const Isa isa = isa_named(plan.isa);
    if (plan.path != Path::exact && queries.rows > 0 &&
        filter_search(points, queries, graph, isa, plan, progress, results, report))
        return;
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(queries.rows));
    std::iota(numbers.begin(), numbers.end(), std::int64_t{0});
    scan(points, queries, numbers.data(), queries.rows, graph, isa, std::max(plan.threads, 1), progress, results);
    report.scanned += queries.rows;
    if (plan.path != Path::exact) {
        exact::Fallbacks fallbacks;
        fallbacks.add(exact::Cause::no_filter, true, queries.rows);
        fallbacks.describe(report);
    }
    report.candidates += static_cast<double>(queries.rows) * static_cast<double>(points.rows.rows);
}

}  // namespace kith::cpu
