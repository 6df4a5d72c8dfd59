// Rows within a radius, found in several sets of points, to those of one search of all.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/metric/reported_distance.h"
#include "kith/radius.h"

namespace kith::api {

// The first `rows` rows of each part, whose distances are distance keys and whose ids count among
// all points, merged by (key, id). `reported` makes the distances.
RadiusNeighbors merged(const std::vector<RadiusRows>& parts, std::int64_t rows,
                       const cpu::ReportedDistance& reported, bool f64, int threads);

}  // namespace kith::api
