// What a metric with Traits::factored is filtered by: VI = W L L' W with a diagonal W of powers of
// two, so that
//     (q - x)' VI (q - x) = |L' W (q - x)|^2,
// and what the two sides, as they are computed, can differ by (docs/exactness.md).
#pragma once

#include <cstdint>
#include <vector>

#include "exact/progress.h"

namespace kith::exact {

// With y = W (x - c): L' y as computed is within coordinate_error |y| of itself, and the distance
// key of a pair is within 2 rank_error (|y of one|^2 + |y of the other|^2) of |L' (y of one - y of
// the other)|^2.
struct Factor {
    std::vector<double> values;  // L, d x d, row-major, zero above its diagonal; then the diagonal
                                 // of W. Empty: none
    double coordinate_error = 0, rank_error = 0;
};

// Of a d x d matrix. None where it is not positive definite as far as binary64 can tell, or its
// diagonal is outside of 2^-1000 ... 2^1000. Polls `progress` and throws where it is cancelled.
Factor factorise(const std::vector<double>& matrix, std::int64_t d, int threads,
                 ProgressMeter& progress);

}  // namespace kith::exact
