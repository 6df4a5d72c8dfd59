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

// Throws invalid_argument, naming the request's path, unless the kernel can serve its metric on
// this machine.
void refuse_unserved(const gpu::DistanceKernel& kernel, const Request& request,
                     const Machine& machine);

}  // namespace kith::planner
