// The inverse covariance of the Mahalanobis distance: given and checked, or estimated from the
// points.
#pragma once

#include <vector>

#include "exact/progress.h"
#include "kith/types.h"

namespace kith::api {

// A d x d f64 matrix in row-major order from the caller's view. Throws invalid_argument unless it
// is d x d, finite, symmetric (to 1e-9 of its largest element) and positive definite.
std::vector<double> given_inverse_covariance(const MatrixView& view, std::int64_t d, int threads,
                                             ProgressMeter& progress);

// The inverse of the points' sample covariance (divisor n - 1), in binary64: two passes over the
// points, then Cholesky. Throws invalid_argument where it is singular. Rows with a NaN are left
// out. O(n d^2 + d^3).
std::vector<double> estimated_inverse_covariance(const MatrixView& points, int threads,
                                                 ProgressMeter& progress);

}  // namespace kith::api
