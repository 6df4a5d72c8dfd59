// The component's paths for the planner (papers/plan.h).
#include <fmt/format.h>

#include "papers/distance/distance_kernels.h"
#include "papers/fused/fused_kernels.h"
#include "papers/names.h"
#include "papers/plan.h"
#include "papers/plan/composed.h"
#include "papers/plan/fused.h"
#include "papers/plan/hanak_rule.h"
#include "plan/attempts.h"

namespace kith::papers {

bool built() {
    return true;
}

Plan plan(const planner::Request& r, const planner::Machine& machine) {
    if (planner::is_ruled(r.path)) return planner::ruled(r, machine);
    if (is_graph_path(r.path)) return graph_plan(r, machine);
    Plan p = planner::is_fused(r.path) ? planner::fused(r, machine) : planner::composed(r, machine);
    planner::add_attempts(r, machine, p);
    return p;
}

std::vector<PathInfo> path_list() {
    std::vector<PathInfo> list{
        {.name = std::string(kato),
         .on_cpu = true,
         .on_gpu = true,
         .graphs_only = true,
         .what =
             "of a graph: each pair once, in grids dealt to the devices (Kato and Hosino 2009)"},
        {.name = std::string(hanak_rule),
         .on_gpu = true,
         .what = fmt::format("of the following what Hanak 2023, 5.6 takes; NAME+{}: its selector",
                             hanak_rule)}};
    for (const gpu::DistanceKernel& kernel : gpu::distance_kernels)
        list.push_back({.name = kernel.name,
                        .on_gpu = true,
                        .takes_selector = true,
                        .what = fmt::format("{}, then a selector of a GPU; alone: kith distances",
                                            kernel.what)});
    for (const gpu::FusedKernel& kernel : gpu::fused_kernels)
        list.push_back({.name = kernel.name, .on_gpu = true, .what = kernel.what});
    return list;
}

}  // namespace kith::papers
