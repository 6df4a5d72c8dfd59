// The papers' component as planning uses it (docs/papers.md): its paths, and searches on a GPU by a
// requested selector. The rest of the library includes only this file, gpu.h and graph.h of
// src/papers. A build without KITH_PAPERS compiles absent.cpp in place of the component: it knows
// the names, and refuses them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gpu/select/selectors.h"
#include "kith/algorithms.h"
#include "kith/schedule.h"
#include "plan/planner.h"

namespace kith::papers {

// True if this build has the component; and the text of a refusal if it has not.
bool built();
inline constexpr const char* not_built =
    "this kith was built without KITH_PAPERS, the code of the papers; cmake -D KITH_PAPERS=ON "
    "builds it "
    "(docs/install.md)";

// True if this build has the selector.
inline bool has(const gpu::Selector& selector) {
    return !selector.papers || built();
}

// True for the component's paths, also in a build without it: "kuang-zhao+bits", "hanak-fused",
// "hanak-rule", "kato".
bool is_path(std::string_view path);
// True if the path serves graphs alone: "kato".
bool is_graph_path(std::string_view path);
// "bits" of "kuang-zhao+bits"; "" if a path names no selector.
std::string_view selector_of(std::string_view path);
// True for the name of a distance kernel, a path of distances() alone: "garcia". kernel_names():
// all of them. Both are known to a build without the component, too.
bool is_kernel(std::string_view path);
std::string kernel_names();

// The plan of such a path. Throws like planner::make(); invalid_argument if the component is not
// built.
Plan plan(const planner::Request& request, const planner::Machine& machine);
// The plan of all distances by a path of is_kernel(), on one GPU. Throws like plan().
Plan distances_plan(const planner::Request& request, const planner::Machine& machine);
// The plan of a search on one GPU by `request.selector`, after a distance kernel. Throws like
// plan().
Plan plan_by_selector(const planner::Request& request, const planner::Machine& machine);
// The plan of a graph by a path of is_graph_path(). Throws like plan().
Plan graph_plan(const planner::Request& request, const planner::Machine& machine);
// The schedule of a graph by such a path on `devices` GPUs. `symmetric`: distances have the same
// bits from either side.
GraphSchedule graph_schedule(const planner::Request& request, int devices, bool symmetric);

// "" or the reason why this machine has no products of f32 matrices
// (planner::Machine::products_absence). Loads cuBLAS.
std::string products_absence();

// True if a graph by this path runs on one GPU alone: all of the component's but "kato".
inline bool is_of_one_gpu(std::string_view path) {
    return is_path(path) && !is_graph_path(path);
}

// The component's paths (kith/algorithms.h).
std::vector<PathInfo> path_list();

}  // namespace kith::papers
