// Measures what searches take on a device: a rate for each path, metric, d and k of a fixed grid.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kith/kith.h"
#include "kith/plan.h"

namespace kith::cli {

// A search of a grid.
struct Cell {
    std::string path, metric;
    std::int64_t d = 0, k = 0;
};
// The searches that are measured on a CPU or a GPU, those first that are the most common.
std::vector<Cell> cells(bool gpu);

// One timed search of that shape.
struct Timing {
    double n = 0, q = 0, seconds = 0;
};
// The rate, without its device, that is nearest to the timings in the sense of least squares of relative errors, with
// no negative number. `tree`: points and queries count log2(n + 2) / 16 times.
MeasuredRate fitted(const std::vector<Timing>& timings, bool tree);

// The rates of a device ("cpu", "cuda:0") in at most about this many seconds: cells that the device or the metric does
// not serve, or that the time does not suffice for, are left out. `say`: told before each cell.
std::vector<MeasuredRate> measured_rates(const std::string& device, double seconds,
                                         const std::function<void(const Cell&)>& say);

}  // namespace kith::cli
