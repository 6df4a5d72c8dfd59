// The paths "gemm-bf16", "gemm-f32" and "direct-f32": filter, refine in binary64, certified by the bound.
#pragma once

#include "cpu/points/points.h"
#include "cpu/search/results.h"
#include "exact/progress.h"
#include "kith/plan.h"

namespace kith::cpu {

// As cpu::search. False, with nothing written, where the points have no filter.
bool filter_search(const Points& points, const MatrixView& queries, bool graph, Isa isa, const Plan& plan,
                   ProgressMeter& progress, const Results& results, Report& report);

}  // namespace kith::cpu
