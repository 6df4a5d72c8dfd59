// Tiles and memory of a search on a GPU.
#pragma once

#include "plan/planner.h"

namespace kith::planner {

// Whether a tree would save something, if its boxes left out most of the points, and there is room
// for it.
bool gpu_tree_saves(const Request& request, const Machine::Device& device);
// Whether a tree of the points may leave out enough of them to be faster than a filter: the direct
// form, or products.
bool gpu_tree_may_pay(const Request& request, const Machine::Device& device, bool direct);

// Completes a plan whose path is chosen, which becomes gemm_i8 where the device has room for
// nothing else of the points that filters. Throws out_of_memory where the budget is below the
// smallest tile.
void gpu_tiles(const Request& request, const Machine::Device& device, Plan& plan);
// The same of the path "tree", with the tiles of the path `behind` it, for queries that look at too
// many points.
void gpu_tree_tiles(const Request& request, const Machine::Device& device, Path behind, Plan& plan);

}  // namespace kith::planner
