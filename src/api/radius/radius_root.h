// Range searches of euclidean on points prepared for sqeuclidean: both have the same distance keys.
#pragma once

#include <functional>

#include "api/radius/radius.h"

namespace kith::api {

// `call` is of euclidean; `run` runs one of sqeuclidean among n points of dimension d. Rows get the
// roots of its distances; keys are passed on unchanged.
Report run_rooted(const RadiusCall& call, std::int64_t n, std::int64_t d,
                  const std::function<Report(const RadiusCall&)>& run);

}  // namespace kith::api
