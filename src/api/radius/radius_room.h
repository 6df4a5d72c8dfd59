// Checks that a range search's whole result fits in memory before it is listed.
#pragma once

#include <functional>

#include "api/radius/radius.h"

namespace kith::api {

// Counts the pairs if the rows may exceed memory: for a sample of queries, and for all if the
// sample predicts many. Throws out_of_memory, naming the radius, the pairs, their size and the free
// memory. `run`: see run_radius(). `queries`: returns the call's queries, or the points among
// themselves; it is called only if needed. n points.
void require_room(const RadiusCall& call, const MetricSpec& metric, std::int64_t n,
                  const std::function<MatrixView()>& queries,
                  const std::function<Report(const RadiusCall&)>& run);

}  // namespace kith::api
