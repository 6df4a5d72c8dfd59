// The path "kato": a graph as Kato and Hosino computed it in 2009, on one device or several.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "api/run.h"

namespace kith::api {

// What tests force: nothing of it changes an answer.
struct KatoProbe {
    std::vector<std::string>
        devices;            // in place of those that the options name; one may be there twice
    std::int64_t grid = 0;  // points of a side; 0: by the number of points
    std::function<void(int device)> before;  // on a device's thread, before its part
};

// The validated graph of validated points, into `out`: grids of distances, each pair's once where
// the metric is symmetric, dealt to the devices by rows of grids; heaps of all points on each,
// merged on the host. A device that fails leaves its part to the others, or to the CPU.
Report kato_graph(const MatrixView& points, const MetricSpec& metric, std::int64_t k,
                  const Options& options, ProgressMeter& progress, const NeighborsView& out,
                  const KatoProbe& probe = {});

}  // namespace kith::api
