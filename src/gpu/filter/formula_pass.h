// The direct filter's pass of a user's formula: its step in f32, as text that is compiled at run
// time, in the tiles of direct_tile.cuh.
#pragma once

#include <string>

#include "formula/program.h"
#include "gpu/filter/pass.h"

namespace kith::gpu {

// `float next(float a, float q, float x)`: each operation as formula/error_bound.h takes it to be.
std::string filter_step_text(const formula::Program& program);
// The source of the kernels `filter_lists` and `filter_all` around it.
std::string filter_text(const formula::Program& program);

// FilterPass::exponent is the value before the first coordinate; the pass's own step is not taken.
// Words are those of exact::Coordinates::exact.
void formula_pass(const formula::Program& program, const FilterPass& pass, cudaStream_t stream);

}  // namespace kith::gpu
