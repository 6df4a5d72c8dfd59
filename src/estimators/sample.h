// Samples of the estimators: rows of finite binary64 values in host memory.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "kith/estimators.h"
#include "kith/kith.h"

namespace kith::estimators {

struct Sample {
    std::int64_t n = 0, d = 0;
    std::vector<double> values;  // n x d; no -0
    MatrixView view() const { return kith::view(values.data(), n, d); }
    const double* row(std::int64_t i) const { return values.data() + i * d; }
};

// Converts a view. Throws invalid_argument, naming `what`, for an invalid view or its first value
// that is not finite.
Sample sample_of(const MatrixView& view, const char* what, int threads);
// Multiplies all values by the power of two that brings the largest magnitude below 1. No
// difference overflows then, and only squares of far smaller values underflow. Returns its
// exponent.
int scale_together(std::span<Sample* const> parts, int threads);
inline int scale_together(std::initializer_list<Sample*> parts, int threads) {
    return scale_together(std::span(parts.begin(), parts.size()), threads);
}
// Likewise for the maximum norm, which takes differences alone. The power rounds no value, however
// small it is relative to the largest, as a variable in other units may be. Throws invalid_argument
// if there is no such power.
int scale_exactly(std::initializer_list<Sample*> parts, int threads);
// Checks that row i of a and row j of b are equal. Throws invalid_argument if they are not: their
// distance, which is 0 or not finite, cannot be used.
void require_equal(const Sample& a, std::int64_t i, const Sample& b, std::int64_t j,
                   double distance);
// Concatenates the columns of samples with equal numbers of rows. Throws out_of_memory.
Sample joined(std::initializer_list<const Sample*> parts, int threads);
// Rows [first, first + n).
Sample rows_of(const Sample& sample, std::int64_t first, std::int64_t n);
// The listed rows, in this order.
Sample rows_of(const Sample& sample, const std::vector<std::int64_t>& rows, int threads);
// Throws invalid_argument if k is not in [1, most]; `of` names the bound in the message.
void check_k(std::int64_t k, std::int64_t most, const char* of);

// Options of a search with f64 distances, and metric `usual` if none was named. Throws
// invalid_argument for parameters of other metrics.
Options search_options(const Options& options, MetricId usual = MetricId::euclidean);
// Options with the maximum norm. Throws invalid_argument if they name another metric.
Options in_maximum_norm(const Options& options);

}  // namespace kith::estimators
