// Estimates order statistics of many values from a sample.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace kith::exact {

// Estimates the value with this rank (from 0; not negative) among `values`, which must not be empty
// and are reordered. Values are taken as distances from `least`. Ranks below 1 extrapolate the
// first distances as a power of the rank; ranks beyond the last give the last.
inline double value_at_rank(std::vector<double>& values, double least, double rank) {
    const auto distance = [&](double value) { return std::max(value - least, 1e-300); };
    const auto last = static_cast<double>(values.size() - 1);
    if (rank >= 1) {
        const auto at = values.begin() + static_cast<std::ptrdiff_t>(std::min(rank, last));
        std::nth_element(values.begin(), at, values.end());
        return distance(*at) + least;
    }
    constexpr double far = 16;
    const auto behind = values.begin() + 1 + static_cast<std::ptrdiff_t>(std::min(far - 1, last));
    // Faster than nth_element() for a short prefix of many values.
    std::partial_sort(values.begin(), behind, values.end());
    const double first = distance(values.front());
    const double slope = std::log(distance(*(behind - 1)) / first) / std::log(far);
    return first * std::pow(rank, slope) + least;
}

}  // namespace kith::exact
