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

// Throws invalid_argument, naming `what`: what is wrong with the view, or the first value that is
// not finite.
Sample sample_of(const MatrixView& view, const char* what, int threads);
// Multiplies all values by the power of two that brings the largest magnitude below 1, so that no
// difference overflows and squares underflow only of what is far smaller than that. Returns its
// exponent.
int scale_together(std::span<Sample* const> parts, int threads);
inline int scale_together(std::initializer_list<Sample*> parts, int threads) {
    return scale_together(std::span(parts.begin(), parts.size()), threads);
}
// The same for the maximum norm, of which differences alone are taken: by a power that rounds no
// value, be it smaller than the largest by ever so much, as a variable in other units is. Throws
// invalid_argument where there is none.
int scale_exactly(std::initializer_list<Sample*> parts, int threads);
// Row i of a and row j of b are equal. Throws invalid_argument where they are not: their distance,
// which is 0 or not finite, cannot be used.
void require_equal(const Sample& a, std::int64_t i, const Sample& b, std::int64_t j,
                   double distance);
// Side by side; all have as many rows. Throws out_of_memory.
Sample joined(std::initializer_list<const Sample*> parts, int threads);
// Rows [first, first + n).
Sample rows_of(const Sample& sample, std::int64_t first, std::int64_t n);
// Those rows, in this order.
Sample rows_of(const Sample& sample, const std::vector<std::int64_t>& rows, int threads);
// Throws invalid_argument where k is not in [1, most]; `of` says of what.
void check_k(std::int64_t k, std::int64_t most, const char* of);

// Options of a search, of the usual metric where none was chosen, with distances of f64. Throws
// invalid_argument for parameters of other metrics.
Options search_options(const Options& options, MetricId usual = MetricId::euclidean);
// The maximum norm; throws invalid_argument where options name another metric.
Options in_maximum_norm(const Options& options);

}  // namespace kith::estimators
