// A compiled formula as CUDA C++, for NVRTC.
#pragma once

#include <string>

#include "formula/program.h"

namespace kith::gpu {

// `double NAME(double a, double q, double x)`: one statement a value, so that nothing depends on how a compiler binds
// operators. Formulas that differ in blanks, parentheses or the writing of numbers have the same text.
std::string step_text(const formula::Program& program, const std::string& name = "step");

// The source of the kernel `formula` around a step.
std::string kernel_text(const std::string& step);

}  // namespace kith::gpu
