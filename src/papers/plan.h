// What planning asks of the papers' component (docs/papers.md): its paths, and searches on a GPU by
// a selector that was asked for. The rest of the library includes this file, gpu.h and graph.h of
// src/papers, and no other. A build without KITH_PAPERS compiles absent.cpp in place of the
// component: it knows the names, and refuses them.
#pragma once

#include <string>
#include <string_view>

#include "gpu/select/selectors.h"
#include "kith/schedule.h"
#include "plan/planner.h"

namespace kith::papers {

// Whether this build has the component, and what a refusal says where it has not.
bool built();
inline constexpr const char* not_built =
    "this kith was built without KITH_PAPERS, the code of the papers; cmake -D KITH_PAPERS=ON "
    "builds it "
    "(docs/install.md)";

// Whether this build has the selector.
inline bool has(const gpu::Selector& selector) {
    return !selector.papers || built();
}

// Whether a path is one of the component's, also in a build without it: "kuang-zhao+bits",
// "hanak-fused", "hanak-rule", "kato".
bool is_path(std::string_view path);
// Whether it serves graphs alone: "kato".
bool is_graph_path(std::string_view path);
// "bits" of "kuang-zhao+bits"; "" where a path names no selector.
std::string_view selector_of(std::string_view path);

// The plan of such a path. Throws as planner::make(); invalid_argument where the component is not
// built.
Plan plan(const planner::Request& request, const planner::Machine& machine);
// The plan of a search on one GPU by `request.selector`, behind a distance kernel. Throws likewise.
Plan plan_by_selector(const planner::Request& request, const planner::Machine& machine);
// The schedule of a graph by such a path on `devices` GPUs. `symmetric`: distances have the same
// bits from either side.
GraphSchedule graph_schedule(const planner::Request& request, int devices, bool symmetric);

// "" or why this machine has no products of f32 matrices (planner::Machine::products_absence).
// Loads cuBLAS.
std::string products_absence();

// The lines of build_info() that list the component's paths.
std::string path_lines();

}  // namespace kith::papers
