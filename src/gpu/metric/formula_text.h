// A compiled formula as CUDA C++, for NVRTC.
#pragma once

#include <cstdint>
#include <string>

#include "formula/program.h"
#include "kith/types.h"

namespace kith::gpu {

// How an arithmetic is written.
struct Arithmetic {
    const char* type;
    // An operation of the arguments {0}, {1}, {2}; null for those that are written alike in all:
    // comparisons, logic.
    const char* (*operation)(formula::Op op);
    // What a variable of the type is set to for a constant: its bits, which are the same in every
    // locale.
    std::string (*constant)(double value);
};
// With the roundings of formula/operations.h.
const Arithmetic& binary64();

// `TYPE NAME(TYPE a, TYPE q, TYPE x)`: one statement a value, so that nothing depends on how a
// compiler binds operators. Formulas that differ in blanks, parentheses or the writing of numbers
// have the same text.
std::string step_text(const formula::Program& program, const std::string& name = "step",
                      const Arithmetic& arithmetic = binary64());

// A shape of kith::StepTiles: threads along the points, pairs of a thread.
struct FormulaTile {
    int columns = 16, queries_each = 1, points_each = 1;
    std::int64_t queries() const { return 256 / columns * queries_each; }
    std::int64_t points() const { return columns * points_each; }
};

// The shape for so many queries. The step stands once in the kernel's text for every pair of a
// thread: a thread takes fewer pairs through a long one.
FormulaTile tile_of(const formula::Program& program, std::int64_t queries);

// The source of the kernel `formula` around a step.
std::string kernel_text(const std::string& step, const FormulaTile& tile);

// The source of the kernel `refine` around a step: keys of candidates, of rows with such elements.
std::string refine_text(const std::string& step, ElementType queries, ElementType points);

}  // namespace kith::gpu
