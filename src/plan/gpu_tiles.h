// Tiles and memory of a search on a GPU.
#pragma once

#include "plan/planner.h"

namespace kith::planner {

// True if there is room for a tree, and if it would save time provided that its boxes prune most
// points.
bool gpu_tree_saves(const Request& request, const Machine::Device& device);
// True if a tree may prune enough points to be faster than a filter: the direct form (`direct`), or
// products.
bool gpu_tree_may_pay(const Request& request, const Machine::Device& device, bool direct);

// True if points of host memory of which all take `bytes` on the device have no room there: more
// than half of the budget, as two chunks are in flight.
inline bool are_scarce_on_device(const Request& request, double bytes, double budget) {
    return request.data_device == host_memory && bytes > budget / 2;
}

// Completes a plan whose path is chosen. If the device has room for no other filter than the int8
// form of the points, the path becomes gemm_i8. Throws out_of_memory if the budget is below the
// smallest tile.
void gpu_tiles(const Request& request, const Machine::Device& device, Plan& plan);
// Likewise for the path "tree". The tiles are those of the path `behind`, which answers queries
// that look at too many points. Throws out_of_memory also if the points would have to stream.
void gpu_tree_tiles(const Request& request, const Machine::Device& device, Path behind, Plan& plan);

}  // namespace kith::planner
