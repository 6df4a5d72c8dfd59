// The strategies of both backends, for the planner.
#pragma once

#include <string>

#include "plan/planner.h"
#include "strategy/facts.h"

namespace kith::planner {

// Why the CPU's strategy of that path cannot serve; "" if it can, or if only a GPU has the path.
std::string obstacle_on_cpu(const PathFacts& path, const MetricFacts& metric, ElementType type,
                            const strategy::Processor& processor, bool all_points);

// Sets the seconds of a plan's attempts, which a search does not need; of several devices, those of
// a block.
void estimate_attempts(const Request& request, Plan& plan);

// Sets Plan::attempts: the strategies that a search by the plan may run, in order.
void add_attempts(const Request& request, const Machine& machine, Plan& plan);

}  // namespace kith::planner
