// Plans of composed paths, "NAME+SELECTOR" (composed.cpp).
#pragma once

#include <string>

#include "plan/planner.h"

namespace kith::planner {

// Throws as make() does.
Plan composed(const Request& request, const Machine& machine);

// What other paths with the direct filter's bound share. Throws invalid_argument, naming the
// request's path, unless that leads to one GPU, and the metric has a direct form.
void refuse_other_than_direct(const Request& request, const Machine& machine);
// The direct filter's plan on the GPU that the request leads to,
// within that part of its budget, in tiles for kernels that are so many times slower; throws what
// it refuses as said of the request's path.
Plan direct_plan(const Request& request, const Machine& machine, double part, double slower);

}  // namespace kith::planner
