// The terms whose mean an estimate is.
#pragma once

#include <cstdint>
#include <vector>

#include "kith/estimators.h"

namespace kith::estimators {

// The mean of the terms plus `constant`, without an error. Without terms it is NaN.
Estimate mean_of(const std::vector<double>& terms, double constant, std::int64_t left_out);

// The logarithmic derivative of the gamma function at a whole number >= 1.
double digamma(std::int64_t n);

}  // namespace kith::estimators
