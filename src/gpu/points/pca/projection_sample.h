// The sample of the points that fits a PCA and tries its columns, and the columns that it found.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gpu/points/pca/directions.h"
#include "gpu/points/pca/projection_trial.h"
#include "gpu/points/points.h"
#include "gpu/primitives/products/product_f64.h"

namespace kith::gpu {

// The first vectors of a filter as a sample: one part fits the PCA, the next part tries it.
class ProjectionSample {
public:
    ProjectionSample(const FilterVectors& filter, std::int64_t n, cudaStream_t stream);

    // True if there are enough rows and the filter's vectors can be projected.
    bool serves() const;
    const FilterForm& form() const { return filter_.form; }
    std::int64_t width() const { return filter_.form.width; }
    cudaStream_t stream() const { return stream_; }
    std::int64_t made_of() const { return made_of_; }
    const __half* rows() const { return reinterpret_cast<const __half*>(filter_.vectors.get()); }
    // The rows that try the columns.
    const __half* other_rows() const { return rows() + made_of_ * width(); }

    // The number of these rows that determines the quantization step for that many columns.
    std::int64_t sampled(std::int64_t columns) const;
    // The first `count` of them, row-major.
    std::vector<double> rows_of_sample(std::int64_t count) const;

    // The stride of a matrix with that many columns and width() rows.
    static std::int64_t whole_columns(std::int64_t columns) { return (columns + 63) / 64 * 64; }
    // Fits the principal components of a pass.
    void find_columns(std::int64_t columns);
    // Fits those of residual stages, up to `all` columns, after the usable ones. Returns false, and
    // changes nothing, if no column is usable.
    bool find_further_columns(std::int64_t all);
    // The number of columns, including unusable ones.
    std::int64_t found() const { return found_; }
    Columns matrix(std::int64_t columns) const {
        return {matrix_.get(), width(), columns, stride_};
    }
    // Coordinates of the first `rows` of other_rows() along `count` columns from `first` on, as of
    // try_columns().
    Operand<double> along(std::int64_t first, std::int64_t rows, std::int64_t count) const {
        return {along_.get() + first, rows, count, stride_, 1};
    }

    // Fractions of candidates among the other rows, for each number of first columns in `tried`
    // (ascending), and for int8 coordinates. `slack`: as in ProjectionTrial. `byte_columns`: the
    // number of columns that are rounded to int8.
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
