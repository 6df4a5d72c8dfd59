// The operations of a formula for one instruction set.
#pragma once

#include "cpu/metric/formula_kernels.h"
#include "cpu/simd/vector_portable-inl.h"
#include "formula/operations.h"

namespace kith::cpu::KITH_TARGET {
namespace {

using formula::Op;
using Ops = VectorFormulaOps;

template <bool per_row>
KITH_HD Ops::V argument(const double* p, std::int64_t row, std::int64_t at) {
    if constexpr (per_row) return Ops::set(p[row]);
    else return Ops::load(p + at);
}

// Bit i of `per_row`: argument i has one value a row.
template <Op op, int per_row>
void run(double* out, const double* a, const double* b, const double* c, std::int64_t rows,
         std::int64_t columns) {
    if constexpr (per_row == 0) {
        columns *= rows;
        rows = 1;
    }
    for (std::int64_t row = 0; row < rows; ++row) {
        if constexpr (op == Op::power && per_row == 2) {
            if (const double p = b[row]; !Ops::small_whole(p)) {
                for (std::int64_t at = row * columns; at < (row + 1) * columns; at += Ops::lanes)
                    Ops::store(out + at, Ops::far_power(Ops::load(a + at), p));
                continue;
            }
        }
        for (std::int64_t at = row * columns; at < (row + 1) * columns; at += Ops::lanes) {
            Ops::V second{}, third{};
            if constexpr (formula::arity(op) > 1) second = argument<(per_row & 2) != 0>(b, row, at);
            if constexpr (formula::arity(op) > 2) third = argument<(per_row & 4) != 0>(c, row, at);
            Ops::store(out + at, formula::apply<op, Ops>(argument<(per_row & 1) != 0>(a, row, at),
                                                         second, third));
        }
    }
}

// Where every argument has one value a row, so has the result: such a call is of one row.
template <Op op, int per_row>
constexpr FormulaKernel form() {
    constexpr int all = (1 << formula::arity(op)) - 1;
    if constexpr (per_row < all) return &run<op, per_row>;
    else return nullptr;
}

template <Op op, int... per_row>
constexpr std::array<FormulaKernel, 8> forms(std::integer_sequence<int, per_row...>) {
    return {form<op, per_row>()...};
}

template <int... op>
constexpr auto forms_of_all(std::integer_sequence<int, op...>) {
    return std::array<std::array<FormulaKernel, 8>, formula::op_count>{
        forms<static_cast<Op>(op)>(std::make_integer_sequence<int, 8>{})...};
}

void transpose(const double* rows, std::int64_t stride, std::int64_t count, std::int64_t d,
               double* out, std::int64_t columns) {
    // Eight columns at a time: a cache line of each row, and a line of each result.
    for (std::int64_t first = 0; first < columns; first += 8) {
        const std::int64_t here = std::clamp<std::int64_t>(count - first, 0, 8);
        for (std::int64_t j = 0; j < d; ++j) {
            double* to = out + j * columns + first;
            for (std::int64_t i = 0; i < here; ++i) to[i] = rows[(first + i) * stride + j];
            for (std::int64_t i = here; i < 8; ++i) to[i] = 0;
        }
    }
}

constexpr FormulaKernels formula_of_target{
    forms_of_all(std::make_integer_sequence<int, formula::op_count>{}), transpose};

}  // namespace

const FormulaKernels& formula_kernel_table() {
    return formula_of_target;
}

}  // namespace kith::cpu::KITH_TARGET
