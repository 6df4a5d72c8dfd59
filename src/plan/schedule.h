// Schedules of graphs on several devices, simulated.
#pragma once

#include <vector>

#include "kith/schedule.h"
#include "plan/planner.h"

namespace kith::planner {

// Points of a side of a grid of the path "kato": rows of grids are a multiple of 2 D, so that each of D devices has the
// same.
std::int64_t kato_grid(std::int64_t n, int parts);

// That of a graph on `count` GPUs like the machine's first. Throws as make().
GraphSchedule schedule(const Request& request, const Machine& machine, int count);

}  // namespace kith::planner
