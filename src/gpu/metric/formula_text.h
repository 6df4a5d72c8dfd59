// A compiled formula as CUDA C++, for NVRTC.
#pragma once

#include <cstdint>
#include <string>

#include "formula/program.h"
#include "kith/types.h"

namespace kith::gpu {

// How an arithmetic is written in CUDA C++.
struct Arithmetic {
    const char* type;
    // Text of an operation on the arguments {0}, {1}, {2}. Null for operations that are written
    // alike in all arithmetics: comparisons, logic.
    const char* (*operation)(formula::Op op);
    // Initialiser of a variable for a constant: its bits, which are equal in every locale.
    std::string (*constant)(double value);
};
// Binary64 with the roundings of formula/operations.h.
const Arithmetic& binary64();

// `TYPE NAME(TYPE a, TYPE q, TYPE x)`: one statement per value, so that operator precedence does
// not matter. Formulas that differ only in blanks, parentheses or the notation of numbers have
// equal text.
std::string step_text(const formula::Program& program, const std::string& name = "step",
                      const Arithmetic& arithmetic = binary64());

// A shape of kith::StepTiles: threads along the points, queries and points per thread.
struct FormulaTile {
    int columns = 16, queries_each = 1, points_each = 1;
    std::int64_t queries() const { return 256 / columns * queries_each; }
    std::int64_t points() const { return columns * points_each; }
};

// The shape for `queries` queries. The kernel's text has one copy of the step per pair of a thread,
// so a long step gets fewer pairs per thread.
FormulaTile tile_of(const formula::Program& program, std::int64_t queries);

// The source of the kernel `formula` around a step.
std::string kernel_text(const std::string& step, const FormulaTile& tile);

// The source of the kernel `refine` around a step: keys of candidates, from rows of these element
// types.
std::string refine_text(const std::string& step, ElementType queries, ElementType points);

}  // namespace kith::gpu
