// The filter's form of a metric with Traits::factored: VI = W L L' W with a diagonal W of powers of
// two, so that
//     (q - x)' VI (q - x) = |L' W (q - x)|^2,
// and bounds on the difference of the two sides as computed (docs/proofs/products-gpu.md, lemma 7).
#pragma once

#include <cstdint>
#include <vector>

#include "exact/report/progress.h"

namespace kith::exact {

// With y = W (x - c): the computed L' y is within coordinate_error |y| of the exact one. The
// distance key of a pair is within 2 rank_error (|y_q|^2 + |y_x|^2) of |L' (y_q - y_x)|^2.
struct Factor {
    std::vector<double> values;  // L, d x d, row-major, zero above its diagonal; then the diagonal
                                 // of W. Empty: none
    double coordinate_error = 0, rank_error = 0;
};

// Factorises a d x d matrix. The result is empty if the matrix is not positive definite as far as
// binary64 can tell, or its diagonal is outside 2^-1000 ... 2^1000. Polls `progress` and throws
// when it is cancelled.
Factor factorise(const std::vector<double>& matrix, std::int64_t d, int threads,
                 ProgressMeter& progress);

}  // namespace kith::exact
