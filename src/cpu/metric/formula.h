// A formula evaluated over a tile of points: one loop per operation, over many pairs.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "cpu/metric/formula_kernels.h"
#include "cpu/primitives/buffer.h"
#include "formula/program.h"

namespace kith::cpu {

// One thread's evaluator of a program that several share.
//
// Values of level query are kept for `chunk` coordinates; values of level point for as many of them
// at a time as make a block of about `block` pairs, which the first-level cache holds; running
// values for one coordinate of every point.
class Formula {
public:
    Formula(std::shared_ptr<const formula::Program> program, double start, Isa isa);

    // Points as distances() takes them: coordinate by coordinate.
    static std::int64_t columns(std::int64_t count) { return (count + 7) / 8 * 8; }
    // `count` rows of d, `stride` values apart, into out[d * columns(count)].
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
    // Where a value of the row at work lies.
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
    std::array<std::int64_t, 4> offset_{};    // by level: from there to the row at work
    const double** point_ = nullptr;          // the base of x, where the formula has it
    std::int64_t capacity_ = 0;               // columns
    Buffer<double> memory_;
    double* query_chunk_ = nullptr;
    double* running_ = nullptr;
};

}  // namespace kith::cpu
