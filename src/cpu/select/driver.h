// k-selection of given values on the CPU.
#pragma once

#include "exact/progress.h"
#include "exact/request.h"
#include "kith/plan.h"
#include "kith/types.h"

namespace kith::cpu {

// kith::select for a matrix of f32, f64, f16 or bf16 in host memory by plan.selector. `values`
// receives elements of the matrix' own type, may be null.
void select(const MatrixView& matrix, const Selection& selection, const Plan& plan,
            ProgressMeter& progress, std::int64_t* ids, void* values);

}  // namespace kith::cpu
