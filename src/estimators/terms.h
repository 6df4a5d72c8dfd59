// An estimate as the mean of terms.
#pragma once

#include <cstdint>
#include <vector>

#include "kith/estimators.h"

namespace kith::estimators {

// The mean of the terms plus `constant`, without an error. NaN without terms.
Estimate mean_of(const std::vector<double>& terms, double constant, std::int64_t left_out);

// The logarithmic derivative of the gamma function at an integer >= 1.
double digamma(std::int64_t n);

}  // namespace kith::estimators
