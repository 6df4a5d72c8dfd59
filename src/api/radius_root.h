// Searches by radius of euclidean among points that were prepared for sqeuclidean: the distance
// keys are the same.
#pragma once

#include <functional>

#include "api/radius.h"

namespace kith::api {

// `call` is of euclidean; `run` runs one of sqeuclidean among n points of d dimensions, with the
// same answer but for the distances, whose roots are handed on; keys are those of both.
Report run_rooted(const RadiusCall& call, std::int64_t n, std::int64_t d,
                  const std::function<Report(const RadiusCall&)>& run);

}  // namespace kith::api
