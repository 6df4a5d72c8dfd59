// The text of a sweep by a user's formula: its step in f32, compiled at run time, in the tiles of
// direct_tile.cuh. Operands::exponent is the value before the first coordinate. Words are those of
// exact::Coordinates::exact.
#pragma once

#include <string>

#include "formula/program.h"

namespace kith::gpu {

// `float next(float a, float q, float x)`, with each operation as formula/error_bound.h assumes it.
std::string filter_step_text(const formula::Program& program);
// The source of the kernels `filter_lists` and `filter_all` with that step.
std::string filter_text(const formula::Program& program);

}  // namespace kith::gpu
