// Rows of the points that a projection's columns are made of and tried on, and the columns that
// were found.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gpu/points/directions.h"
#include "gpu/points/points.h"
#include "gpu/points/projection_trial.h"
#include "gpu/primitives/product_f64.h"

namespace kith::gpu {

// Of a filter's vectors, the first of which are a sample: some that columns are made of, then some
// that they are tried on.
class ProjectionSample {
public:
    ProjectionSample(const FilterVectors& filter, std::int64_t n, cudaStream_t stream);

    // Whether there are enough rows, of a filter whose vectors can be projected.
    bool serves() const;
    const FilterForm& form() const { return filter_.form; }
    std::int64_t width() const { return filter_.form.width; }
    cudaStream_t stream() const { return stream_; }
    std::int64_t made_of() const { return made_of_; }
    const __half* rows() const { return reinterpret_cast<const __half*>(filter_.vectors.get()); }
    // The rows that columns are tried on.
    const __half* other_rows() const { return rows() + made_of_ * width(); }

    // So many of these are enough for the steps of numbers of so many columns.
    std::int64_t sampled(std::int64_t columns) const;
    // The first of them, row-major.
    std::vector<double> rows_of_sample(std::int64_t count) const;

    // Columns of a matrix of width() rows are whole runs apart.
    static std::int64_t whole_columns(std::int64_t columns) { return (columns + 63) / 64 * 64; }
    // The directions of a pass.
    void find_columns(std::int64_t columns);
    // And those of stages, to `all` columns, behind as many of these as are of use; false, and
    // nothing changed, where none is.
    bool find_further_columns(std::int64_t all);
    // How many there are, with those that are of no use.
    std::int64_t found() const { return found_; }
    Columns matrix(std::int64_t columns) const {
        return {matrix_.get(), width(), columns, stride_};
    }
    // What the first other rows have along `count` columns from `first` on, since these were tried.
    Operand<double> along(std::int64_t first, std::int64_t rows, std::int64_t count) const {
        return {along_.get() + first, rows, count, stride_, 1};
    }

    // What passes of the other rows along so many of the first columns each, ascending, and by
    // numbers of 8 bits. `slack`: as of ProjectionTrial; byte_columns: so many of the columns are
    // rounded to 8 bits.
    PassingShares try_columns(const std::vector<int>& tried, double slack,
                              std::int64_t byte_columns);

private:
    void have_room(std::int64_t columns);
    double direction_slack(std::int64_t columns) const;

    const FilterVectors& filter_;
    std::int64_t n_, made_of_, others_;
    cudaStream_t stream_;
    std::int64_t found_ = 0, stride_ = 0;
    Buffer<double> matrix_, along_;
};

}  // namespace kith::gpu
