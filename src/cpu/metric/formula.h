// Evaluates a formula over a tile of points: one loop per operation, over many pairs.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "cpu/metric/formula_kernels.h"
#include "cpu/primitives/buffer.h"
#include "formula/program.h"

namespace kith::cpu {

// One thread's evaluator of a program. Several evaluators may share the program.
//
// Values of level query are stored for `chunk` coordinates. Values of level point are stored for as
// many coordinates as make about `block` pairs, which fit in L1. Running values are stored for one
// coordinate of every point.
class Formula {
public:
    Formula(std::shared_ptr<const formula::Program> program, double start, Isa isa);

    // The padded number of points in the transposed layout that distances() reads.
    static std::int64_t columns(std::int64_t count) { return (count + 7) / 8 * 8; }
    // Transposes `count` rows of d, `stride` values apart, into out[d * columns(count)].
    void transpose(const double* rows, std::int64_t stride, std::int64_t count, std::int64_t d,
                   double* out) const {
        kernels_.transpose(rows, stride, count, d, out, columns(count));
    }
    // The last running value for each of `count` points.
    void distances(const double* q, const double* points, std::int64_t count, std::int64_t d,
                   double* out);

private:
    static constexpr std::int64_t chunk = 64, block = 512;

    struct Step {
        FormulaKernel kernel = nullptr;
        std::int32_t value = 0;
        std::array<std::int32_t, 3> args{};
        double* out = nullptr;
    };

    void reserve(std::int64_t columns);
    // The current row of a value.
    const double* at(std::int32_t value) const {
        const auto i = static_cast<std::size_t>(value);
        return base_[i] + offset_[static_cast<std::size_t>(program_->values[i].level)];
    }
    void run(const std::vector<Step>& steps, std::int64_t rows, std::int64_t columns) const;

    std::shared_ptr<const formula::Program> program_;
    const FormulaKernels& kernels_;
    double start_;
    std::array<std::vector<Step>, 4> steps_;  // by level
    std::vector<const double*> base_;         // by value: its first row
    std::array<std::int64_t, 4> offset_{};    // by level: offset from there to the current row
    const double** point_ = nullptr;          // the base of x, if the formula uses it
    std::int64_t capacity_ = 0;               // columns
    Buffer<double> memory_;
    double* query_chunk_ = nullptr;
    double* running_ = nullptr;
};

}  // namespace kith::cpu
