// The CPU's strategies, to the planner.
#pragma once

#include <string>

#include "plan/planner.h"
#include "strategy/facts.h"

namespace kith::planner {

// Why the CPU's strategy of that path cannot serve; "" if it can, or the path is a GPU's.
std::string obstacle_on_cpu(const PathFacts& path, const MetricFacts& metric, ElementType type,
                            const strategy::Processor& processor, bool all_points);

// To the plan of a search on the CPU, what it will try (Plan::attempts).
void add_attempts(const Request& request, const Machine& machine, Plan& plan);

}  // namespace kith::planner
