// Order statistics of many values from those of few.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace kith::exact {

// The value of that rank (from 0; not negative) of `values`, which are not empty and which it
// reorders, as a distance from `least`; of a rank below 1 the first ones are continued as a power
// of their rank. Ranks beyond the last are the last.
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
    // Of many values, hardly any of which is among the first, faster than nth_element().
    std::partial_sort(values.begin(), behind, values.end());
    const double first = distance(values.front());
    const double slope = std::log(distance(*(behind - 1)) / first) / std::log(far);
    return first * std::pow(rank, slope) + least;
}

}  // namespace kith::exact
