// Range search on the CPU: all points within a radius. Filters with a threshold known beforehand,
// and rescores in binary64.
#pragma once

#include <cstdint>
#include <functional>

#include "cpu/points/points.h"
#include "exact/report/progress.h"
#include "kith/plan.h"
#include "kith/radius.h"

namespace kith::cpu {

struct RadiusRequest {
    const MatrixView& queries;  // with `graph`, the points
    const double* radii;        // one per query
    bool open = false;
    bool graph = false;  // query i excludes id first_own + i, which may belong to another set of
                         // points
    std::int64_t first_own = 0;
    bool f64 = false;                // distances are f64, else f32
    bool keys = false;               // deliver distance keys in place of distances; requires f64
    std::int64_t list_bytes = 0;     // approximate bytes of the rows kept before delivery
    std::int64_t* counts = nullptr;  // if not null, one per query: counts are all that is asked for
    const TakeRadiusRows* take = nullptr;
};

// Adds to the counters of `report`. Returns early when `progress` is cancelled.
void radius_search(const Points& points, const RadiusRequest& request, const Plan& plan,
                   ProgressMeter& progress, Report& report);

}  // namespace kith::cpu
