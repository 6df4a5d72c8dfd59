// The component's paths for the planner (papers/plan.h).
#include <fmt/format.h>

#include "exact/refuse.h"
#include "papers/distance/distance_kernels.h"
#include "papers/fused/fused_kernels.h"
#include "papers/names.h"
#include "papers/plan.h"
#include "papers/plan/composed.h"
#include "papers/plan/fused.h"
#include "papers/plan/hanak_rule.h"

namespace kith::papers {

namespace {

Plan graph_plan(const planner::Request& r, const planner::Machine& machine) {
    if (!r.shape.graph)
        refuse("path: '{}' computes the graph of a set of points, not a search", r.path);
    planner::Request plain = r;
    plain.path = name(Path::exact);
    Plan p = planner::make(plain, machine);
    p.why = fmt::format(
        "path {}: each pair of points once in binary64, in grids whose rows are dealt to the "
        "devices; heaps of all "
        "points on each, merged at the end. {}",
        r.path, p.why);
    return p;
}

}  // namespace

bool built() {
    return true;
}

Plan plan(const planner::Request& r, const planner::Machine& machine) {
    if (planner::is_ruled(r.path)) return planner::ruled(r, machine);
    if (is_graph_path(r.path)) return graph_plan(r, machine);
    return planner::is_fused(r.path) ? planner::fused(r, machine) : planner::composed(r, machine);
}

std::string path_lines() {
    const auto line = [](std::string_view name, std::string_view what) {
        return fmt::format("  {:<18} {:<9} {}\n", name, "gpu", what);
    };
    std::string text =
        line(hanak_rule,
             fmt::format("of the following what Hanak 2023, 5.6 takes; NAME+{}: its selector",
                         hanak_rule));
    for (const gpu::DistanceKernel& kernel : gpu::distance_kernels)
        text += line(fmt::format("{}+...", kernel.name),
                     fmt::format("{}, then a selector of a GPU", kernel.what));
    for (const gpu::FusedKernel& kernel : gpu::fused_kernels)
        text += line(kernel.name, kernel.what);
    return text;
}

}  // namespace kith::papers
