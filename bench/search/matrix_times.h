// Distance kernels, each alone on the device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "exact/direct_form.h"
#include "search/data.h"

namespace kith::bench {

struct MatrixShape {
    std::int64_t n = 0, q = 0, d = 0;
};

struct MatrixRuns {
    int warm_up = 1, counted = 7;
};

// Seconds of the runs of a kernel (DistanceKernel::name) that count, sorted: the whole matrix, of f32 rows that are
// prepared, Gaussian or uniform; with the norms where it takes them. Throws kith::Error.
std::vector<double> matrix_seconds(int device, const std::string& kernel, exact::Step step, Data data,
                                   const MatrixShape& shape, const MatrixRuns& runs);

}  // namespace kith::bench
