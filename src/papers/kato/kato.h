// The path "kato": a graph as Kato and Hosino computed it in 2009, on one device or several.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "api/run.h"

namespace kith::api {

// Overrides by tests; none of them changes an answer.
struct KatoProbe {
    // In place of the devices that the options name; one may be there twice.
    std::vector<std::string> devices;
    std::int64_t grid = 0;                   // points per side; 0: by the number of points
    std::function<void(int device)> before;  // on a device's thread, before its part
};

// Computes the validated graph of validated points, into `out`. Distances come in grids, each
// pair's once if the metric is symmetric; rows of grids are dealt to the devices. Each device keeps
// heaps of all points, which the host merges. A device that fails leaves its part to the others, or
// to the CPU.
Report kato_graph(const MatrixView& points, const MetricSpec& metric, std::int64_t k,
                  const Options& options, ProgressMeter& progress, const NeighborsView& out,
                  const KatoProbe& probe = {});

}  // namespace kith::api
