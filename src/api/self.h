// Graphs whose rows begin with their own point.
#pragma once

#include <cstdint>

#include "api/run.h"

namespace kith::api {

// The neighbours that a search of `k` has to find in a row: with Options::include_self a row of a graph has one fewer
// beside its own point, but one at least is searched for.
inline std::int64_t searched_k(std::int64_t k, bool graph, const Options& options) {
    return graph && options.include_self && k > 1 ? k - 1 : k;
}

// As run(), with the plan of searched_k(). With Options::include_self a row of a graph is id i at its distance to
// itself, then the k - 1 nearest others; a point with a NaN coordinate has no neighbours, itself included.
Report run_rows(const Prepared& prepared, const Call& call);

}  // namespace kith::api
