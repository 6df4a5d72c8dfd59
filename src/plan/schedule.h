// Simulated schedules of graphs on several devices.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kith/schedule.h"
#include "plan/planner.h"

namespace kith::planner {

// Counts the pairs of points that each device computes.
struct Work {
    double all = 0, most = 0;  // pairs of all devices; pairs of the busiest one
    void add(double part) {
        all += part;
        most = std::max(most, part);
    }
};
// Sets pairs and balance of `out` from the work, for n points and out.devices devices.
void set_work(const Work& work, std::int64_t n, GraphSchedule& out);
// Bytes of k neighbours for each point.
double heap_bytes(const Shape& shape);

// The schedule of a graph on `count` GPUs like the machine's first one. `symmetric`: distances have
// the same bits in both directions. Throws as make() does.
GraphSchedule schedule(const Request& request, const Machine& machine, int count, bool symmetric);

}  // namespace kith::planner
