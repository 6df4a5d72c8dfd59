// Whether all rows of an answer within radii fit into memory, known before they are listed.
#pragma once

#include <functional>

#include "api/radius.h"

namespace kith::api {

// Counts the pairs where the rows may take more than there is: of some queries first, and where
// these let expect much, of all. Throws out_of_memory, naming radius, pairs, what they take and
// what is free. `run`: as run_radius(); `queries`: those of the call or, of the points among
// themselves, these, asked for where they are needed. n points.
void require_room(const RadiusCall& call, const MetricSpec& metric, std::int64_t n,
                  const std::function<MatrixView()>& queries,
                  const std::function<Report(const RadiusCall&)>& run);

}  // namespace kith::api
