// Graphs whose rows begin with their own point.
#pragma once

#include <cstdint>
#include <functional>

#include "api/run.h"

namespace kith::api {

// The neighbours that a search of `k` has to find in a row: with Options::include_self a row of a
// graph has one fewer beside its own point, but one at least is searched for.
inline std::int64_t searched_k(std::int64_t k, bool graph, const Options& options) {
    return graph && options.include_self && k > 1 ? k - 1 : k;
}

// As run(), with the plan of searched_k(). With Options::include_self a row of a graph is id i at
// its distance to itself, then the k - 1 nearest others; a point with a NaN coordinate has no
// neighbours, itself included.
Report run_rows(const Prepared& prepared, const Call& call);

// Such rows, of k neighbours, where others(searched, into) finds the nearest others of each point.
using Others = std::function<Report(std::int64_t searched, const NeighborsView& into)>;
Report with_self(const MetricSpec& metric, const MatrixView& points, std::int64_t k,
                 const Options& options, ProgressMeter& progress, const NeighborsView& out,
                 const Others& others);

}  // namespace kith::api
