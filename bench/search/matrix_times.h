// Distance kernels, each alone on the device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "exact/direct_form.h"

namespace kith::bench {

struct MatrixShape {
    std::int64_t n = 0, q = 0, d = 0;
};

// Seconds of `repeat` runs of a kernel (DistanceKernel::name), sorted, after one that is not timed: the whole matrix,
// of Gaussian f32 rows that are prepared; with the norms where it takes them. Throws kith::Error.
std::vector<double> matrix_seconds(int device, const std::string& kernel, exact::Step step, const MatrixShape& shape,
                                   int repeat);

}  // namespace kith::bench
