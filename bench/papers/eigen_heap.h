// Brute force on all cores of a CPU as Hanak 2023, section 5.6.1, has it: distances by a product of matrices, the k
// smallest of each query in a binary heap. Absent where Eigen is not installed.
#pragma once

#include <cstdint>
#include <string>

namespace kith::bench::papers {

// "", or why there is none in this build.
std::string eigen_missing();

// The k nearest of n x d points for q x d queries, row-major, squared Euclidean in f32 by norms and products.
// threads: 0 for all cores. ids: q x k, the nearest first. 1 <= k <= n. Seconds by the clock. Throws device where it is
// missing.
double eigen_search(const float* points, std::int64_t n, const float* queries, std::int64_t q, std::int64_t d,
                    std::int64_t k, int threads, std::int64_t* ids);

}  // namespace kith::bench::papers
