// Schedules of graphs on several devices, simulated.
#pragma once

#include <vector>

#include "kith/schedule.h"
#include "plan/planner.h"

namespace kith::planner {

// Points of a side of a grid of the path "kato": rows of grids are a multiple of 2 D, so that each of D devices has the
// same.
std::int64_t kato_grid(std::int64_t n, int parts);
// What a device takes for its part in such grids: points, heaps and the distances of a grid.
double kato_device_bytes(const Shape& shape, std::int64_t grid);

// That of a graph on `count` GPUs like the machine's first. `symmetric`: distances have the same bits from either side.
// Throws as make().
GraphSchedule schedule(const Request& request, const Machine& machine, int count, bool symmetric);

}  // namespace kith::planner
