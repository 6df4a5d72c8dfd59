// Graph rows that begin with their own point.
#pragma once

#include <cstdint>
#include <functional>

#include "api/run.h"

namespace kith::api {

// The number of neighbours to search for. With Options::include_self a graph row has one fewer
// besides its own point, but at least one is searched for.
inline std::int64_t searched_k(std::int64_t k, bool graph, const Options& options) {
    return graph && options.include_self && k > 1 ? k - 1 : k;
}

// run() with the plan of searched_k(). With Options::include_self a graph row is id i at its
// distance to itself, then the k - 1 nearest others. A point with a NaN coordinate has no
// neighbours, itself included.
Report run_rows(const Prepared& prepared, const Call& call);

// Graph rows of k neighbours, from others(searched, into), which finds the nearest others of each
// point.
using Others = std::function<Report(std::int64_t searched, const NeighborsView& into)>;
Report with_self(const MetricSpec& metric, const MatrixView& points, std::int64_t k,
                 const Options& options, ProgressMeter& progress, const NeighborsView& out,
                 const Others& others);

}  // namespace kith::api
