// The variances of the standardized Euclidean distance: given and checked, or estimated from the
// points.
#pragma once

#include <vector>

#include "exact/progress.h"
#include "kith/types.h"

namespace kith::api {

// d variances from the caller's view. Throws invalid_argument unless it is d x 1 or 1 x d of f64,
// finite and above zero.
std::vector<double> given_variances(const MatrixView& view, std::int64_t d);

// The sample variance of each coordinate of the points (divisor n - 1), in binary64: two passes,
// each sum in the order of the rows. Rows with a NaN or an infinity are left out. Throws
// invalid_argument where one is zero or a column's values are all equal, cancelled. O(n d).
std::vector<double> estimated_variances(const MatrixView& points, int threads,
                                        ProgressMeter& progress);

// Their roots, by which seuclidean divides.
std::vector<double> deviations(std::vector<double> variances);

}  // namespace kith::api
