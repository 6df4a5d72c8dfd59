// All points within a radius on the CPU: filter against a threshold known beforehand, refine in
// binary64.
#pragma once

#include <cstdint>
#include <functional>

#include "cpu/points/points.h"
#include "exact/progress.h"
#include "kith/plan.h"
#include "kith/radius.h"

namespace kith::cpu {

struct RadiusRequest {
    const MatrixView& queries;  // with graph, the points
    const double* radii;        // of each query
    bool open = false;
    bool graph = false;  // query i excludes id first_own + i, which another set of points may have
    std::int64_t first_own = 0;
    bool f64 = false;                // distances are f64
    bool keys = false;               // they are the distance keys; with f64
    std::int64_t list_bytes = 0;     // about so much is kept of rows that have not been taken
    std::int64_t* counts = nullptr;  // of each query, unless null: then only these are asked for
    const TakeRadiusRows* take = nullptr;
};

// Adds to the counters of `report`. Where `progress` is cancelled it returns early.
void radius_search(const Points& points, const RadiusRequest& request, const Plan& plan,
                   ProgressMeter& progress, Report& report);

}  // namespace kith::cpu
