// Stands in for the component in a build without KITH_PAPERS: refuses its paths by name.
#include "exact/refuse.h"
#include "papers/graph.h"
#include "papers/plan.h"

namespace kith::papers {

namespace {

[[noreturn]] void refuse_path(const std::string& path) {
    refuse("path: '{}': {}", path, not_built);
}

}  // namespace

bool built() {
    return false;
}

Plan plan(const planner::Request& request, const planner::Machine&) {
    refuse_path(request.path);
}

Plan distances_plan(const planner::Request& request, const planner::Machine&) {
    refuse_path(request.path);
}

Plan plan_by_selector(const planner::Request& request, const planner::Machine&) {
    refuse("selector: '{}' of a search on a GPU stands behind a distance kernel: {}",
           request.selector, not_built);
}

Plan graph_plan(const planner::Request& request, const planner::Machine&) {
    refuse_path(request.path);
}

GraphSchedule graph_schedule(const planner::Request& request, int, bool) {
    refuse_path(request.path);
}

Report graph(const MatrixView&, const MetricSpec&, std::int64_t, const Options& options,
             ProgressMeter&, const NeighborsView&) {
    refuse_path(options.path);
}

std::string products_absence() {
    return not_built;
}

std::vector<PathInfo> path_list() {
    return {};
}

}  // namespace kith::papers
