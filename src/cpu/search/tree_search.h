// The path "tree": distance keys of the points of those leaves alone that may hold a neighbour.
#pragma once

#include "cpu/points/points.h"
#include "cpu/search/results.h"
#include "exact/progress.h"
#include "kith/plan.h"

namespace kith::cpu {

// As cpu::search, for a monotone metric (metric::Traits). False where it would look at too many of the points: a filter
// serves these queries better, and answers them all.
bool tree_search(const Points& points, const MatrixView& queries, bool graph, Isa isa, const Plan& plan,
                 ProgressMeter& progress, const Results& results, Report& report);

}  // namespace kith::cpu
