// The operations of a formula over many points, for one instruction set.
#pragma once

#include <array>
#include <cstdint>

#include "cpu/simd/isa.h"
#include "formula/tree.h"

namespace kith::cpu {

// out[r][i] for `rows` x `columns` dense values, columns a multiple of 8. An argument is such a
// matrix, or one value for each row. `out` may be an argument.
using FormulaKernel = void (*)(double* out, const double* a, const double* b, const double* c,
                               std::int64_t rows, std::int64_t columns);

struct FormulaKernels {
    // By operation, and by a bit for each argument that has one value a row.
    std::array<std::array<FormulaKernel, 8>, formula::op_count> of{};
    // `count` rows of d values, `stride` apart, as d rows of `columns` values; zeros beyond
    // `count`.
    void (*transpose)(const double* rows, std::int64_t stride, std::int64_t count, std::int64_t d,
                      double* out, std::int64_t columns) = nullptr;
};

const FormulaKernels& formula_kernels(Isa isa);

}  // namespace kith::cpu
