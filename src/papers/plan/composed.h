// Plans of composed paths, "NAME+SELECTOR" (composed.cpp).
#pragma once

#include <string>

#include "papers/distance/distance_kernels.h"
#include "plan/planner.h"

namespace kith::planner {

// Throws as make() does.
Plan composed(const Request& request, const Machine& machine);

// Shared by the paths with the direct filter's bound. Throws invalid_argument, naming the request's
// path, unless it leads to one GPU and the metric has a direct form.
void refuse_other_than_direct(const Request& request, const Machine& machine);
// The direct filter's plan on the GPU that the request leads to, within the fraction `part` of its
// budget. Its tiles are for kernels that are `slower` times slower. Throws its refusals in the name
// of the request's path.
Plan direct_plan(const Request& request, const Machine& machine, double part, double slower);

// Bytes of a matrix of f32 distances, queries by all points of a chunk.
struct MatrixBytes {
    double fixed = 0;  // whatever the number of queries
    double row = 0;    // of a query's row
    double each = 0;   // of a query in all, its row among them
};
// The queries of a tile of `tile` whose rows are in memory at a time. Throws out_of_memory, naming
// the request's path, if there is no room for one.
std::int64_t matrix_queries(const Request& request, const Machine::Device& device,
                            const MatrixBytes& bytes, std::int64_t tile);

// Throws invalid_argument, naming the request's path, unless the kernel can serve its metric on
// this machine.
void refuse_unserved(const gpu::DistanceKernel& kernel, const Request& request,
                     const Machine& machine);

}  // namespace kith::planner
