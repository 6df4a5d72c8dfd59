// Inner products in binary64 for fits and trials on samples.
#pragma once

#include <cstdint>

namespace kith::cpu {

// The order of the sum is the compiler's: no answer depends on it.
inline double product(const double* a, const double* b, std::int64_t d) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t j = 0; j < d; ++j) sum += a[j] * b[j];
    return sum;
}

}  // namespace kith::cpu
