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

// Likewise for a fused kernel alone (FusedKernel::name), squared differences, lists of k; empty if it does not serve k.
std::vector<double> fused_seconds(int device, const std::string& kernel, Data data, const MatrixShape& shape,
                                  std::int64_t k, const MatrixRuns& runs);
// And of selectors alone, unsorted, of the matrix that register-tiled has made: a list for each selector, empty if it
// does not serve k.
std::vector<std::vector<double>> selection_seconds(int device, Data data, const MatrixShape& shape, std::int64_t k,
                                                   const std::vector<std::string>& selectors, const MatrixRuns& runs);

struct GarciaSteps {
    double distance = 0, sort = 0, copy = 0;  // seconds
};
// Garcia et al. 2008, from host memory to host memory on the first GPU. Points and queries (f32 rows) go to the device
// and into panels. Their kernel writes the matrix of squared distances by column, once. A selector that reads columns
// takes the k smallest of each query. ids: q x k. Throws kith::Error.
GarciaSteps garcia_steps(const MatrixShape& shape, std::int64_t k, const float* points, const float* queries,
                         const std::string& selector, std::int64_t* ids);

}  // namespace kith::bench
