// Rows within a radius, found in several sets of points, to those of one search of all.
#pragma once

#include <cstdint>
#include <vector>

#include "kith/radius.h"
#include "metric/metric.h"

namespace kith::api {

// The distance of a key, as a metric reports it; of a formula or functor the key.
using KeyReport = double (*)(double key, const metric::Params& params);
KeyReport key_report(MetricId computed);

// The first `rows` rows of each part, whose distances are distance keys and whose ids count among all points, merged by
// (key, id). `report` makes the distances; null: they stay keys.
RadiusNeighbors merged(const std::vector<RadiusRows>& parts, std::int64_t rows, KeyReport report,
                       const metric::Params& params, bool f64, int threads);

}  // namespace kith::api
