// Schedules of graphs on several devices, simulated.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kith/schedule.h"
#include "plan/planner.h"

namespace kith::planner {

// The pairs of points that each device computes.
struct Work {
    double all = 0, most = 0;  // of all devices; of the one that has most
    void add(double part) {
        all += part;
        most = std::max(most, part);
    }
};
// The fields of `out` that follow from it, for n points and out.devices devices.
void set_work(const Work& work, std::int64_t n, GraphSchedule& out);
// Bytes of k neighbours of each point.
double heap_bytes(const Shape& shape);

// That of a graph on `count` GPUs like the machine's first. `symmetric`: distances have the same
// bits from either side. Throws as make().
GraphSchedule schedule(const Request& request, const Machine& machine, int count, bool symmetric);

}  // namespace kith::planner
