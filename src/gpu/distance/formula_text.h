// A compiled formula as CUDA C++, for NVRTC.
#pragma once

#include <string>

#include "formula/program.h"

namespace kith::gpu {

// `double step(double a, double q, double x)`: one statement a value, so that nothing depends on how a compiler binds
// operators. Formulas that differ in blanks, parentheses or the writing of numbers have the same text.
std::string step_text(const formula::Program& program);

// The whole source of a kernel `formula`, see formula.cpp.
std::string kernel_text(const formula::Program& program);

}  // namespace kith::gpu
