// Merges range-search rows from several sets of points into those of one search of all.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/metric/reported_distance.h"
#include "kith/radius.h"

namespace kith::api {

// Merges the first `rows` rows of each part by (key, id). Their distances are distance keys, and
// their ids count among all points. `reported` converts keys to distances.
RadiusNeighbors merged(const std::vector<RadiusRows>& parts, std::int64_t rows,
                       const cpu::ReportedDistance& reported, bool f64, int threads);

}  // namespace kith::api
