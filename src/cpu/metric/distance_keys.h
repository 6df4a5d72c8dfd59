// Distance keys (`rank` in formulas) of any metric, built-in or the user's own, for one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cpu/metric/formula.h"
#include "cpu/metric/kernels.h"
#include "cpu/primitives/buffer.h"
#include "cpu/primitives/rows.h"
#include "exact/metric_spec.h"

namespace kith::cpu {

// Rows as the metric sees them: binary64, mapped, with their auxiliary values.
class RowBlock {
public:
    RowBlock() = default;
    RowBlock(std::int64_t capacity, std::int64_t d);
    std::int64_t stride() const { return stride_; }
    double* row(std::int64_t i) const { return rows_.data() + i * stride_; }
    // The same rows coordinate by coordinate, for a formula; room for them is made at the first
    // call.
    double* columns();
    double* aux(std::int64_t i) const { return aux_.data() + i * metric::max_aux; }
    std::uint8_t* nan() const { return nan_.data(); }

private:
    std::int64_t capacity_ = 0, d_ = 0, stride_ = 0;
    Buffer<double> rows_, aux_, columns_;
    Buffer<std::uint8_t> nan_;
};

class DistanceKeys {
public:
    DistanceKeys(const MetricSpec& metric, Isa isa);
    // Rows [first, first + count) of `m` into rows [at, at + count) of `block`.
    void load(const MatrixView& m, std::int64_t first, std::int64_t count, RowBlock& block,
              std::int64_t at = 0) const;
    // The same of the rows of those numbers.
    void load_numbered(const MatrixView& m, const std::int64_t* numbers, std::int64_t count,
                       RowBlock& block) const;
    // The same for the points of a tile, which compute() takes, into the rows from 0.
    void load_points(const MatrixView& m, std::int64_t first, std::int64_t count,
                     RowBlock& block) const;
    // Distance keys of query row i against the `count` points of a tile.
    void compute(const RowBlock& queries, std::int64_t i, RowBlock& points, std::int64_t count,
                 double* out);

private:
    void widen(const double* q, const RowBlock& points, std::int64_t count, double* keys);

    const MetricSpec& metric_;
    const RowKernels& rows_;
    const MetricKernels* kernels_ = nullptr;
    std::unique_ptr<Formula> formula_;
    std::vector<double> scratch_;
};

}  // namespace kith::cpu
