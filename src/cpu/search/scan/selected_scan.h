// The full scan with a forced selector (Options::selector): all distance keys of a tile of queries,
// then the k smallest of each by the selector that the plan names.
#pragma once

#include "cpu/points/points.h"
#include "cpu/search/results.h"
#include "exact/report/progress.h"
#include "kith/plan.h"

namespace kith::cpu {

// The neighbours of all queries, as cpu::search writes them. Stops early when `progress` is
// cancelled.
void selected_scan(const Points& points, const MatrixView& queries, bool graph, const Plan& plan,
                   ProgressMeter& progress, const Results& results);

}  // namespace kith::cpu
