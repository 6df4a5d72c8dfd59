// See terms.h.
#include "estimators/terms.h"

#include <cmath>
#include <limits>

namespace kith::estimators {

Estimate mean_of(const std::vector<double>& terms, double constant, std::int64_t left_out) {
    // Neumaier's sum: the terms may be many.
    double sum = 0, lost = 0;
    for (const double t : terms) {
        const double next = sum + t;
        lost += std::fabs(sum) >= std::fabs(t) ? (sum - next) + t : (t - next) + sum;
        sum = next;
    }
    Estimate out;
    out.samples = static_cast<std::int64_t>(terms.size());
    out.left_out = left_out;
    out.value = terms.empty() ? std::numeric_limits<double>::quiet_NaN()
                              : (sum + lost) / static_cast<double>(terms.size()) + constant;
    return out;
}

double digamma(std::int64_t n) {
    constexpr std::int64_t small = 16;
    constexpr double euler = 0.57721566490153286061;
    if (n < small) {
        double sum = -euler;
        for (std::int64_t i = 1; i < n; ++i) sum += 1 / static_cast<double>(i);
        return sum;
    }
    // The asymptotic series; its next term is below 2^-60 from 16 on.
    const double x = static_cast<double>(n), s = 1 / (x * x);
    return std::log(x) - 0.5 / x -
           s * (1.0 / 12 -
                s * (1.0 / 120 -
                     s * (1.0 / 252 - s * (1.0 / 240 - s * (1.0 / 132 - s * 691.0 / 32760)))));
}

}  // namespace kith::estimators
