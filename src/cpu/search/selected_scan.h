// The full scan by a selector (Options::selector): all distance keys of some queries at a time, and
// of each the nearest by the selector that the plan names.
#pragma once

#include "cpu/points/points.h"
#include "cpu/search/results.h"
#include "exact/progress.h"
#include "kith/plan.h"

namespace kith::cpu {

// Neighbours of all queries as in cpu::search. Stops early when `progress` is cancelled.
void selected_scan(const Points& points, const MatrixView& queries, bool graph, const Plan& plan,
                   ProgressMeter& progress, const Results& results);

}  // namespace kith::cpu
