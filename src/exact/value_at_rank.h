// Order statistics of many values from those of few.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace kith::exact {

// The value of that rank (from 0; not negative) of `values`, which are not empty and which it reorders, as a distance
// from `least`; of a rank below 1 the first ones are continued as a power of their rank. Ranks beyond the last are the
// last.
inline double value_at_rank(std::vector<double>& values, double least, double rank) {
    const auto nth = [&](double i) {
        const auto at =
            values.begin() + static_cast<std::ptrdiff_t>(std::min(i, static_cast<double>(values.size() - 1)));
        std::nth_element(values.begin(), at, values.end());
        return at;
    };
    const auto distance = [&](double value) { return std::max(value - least, 1e-300); };
    if (rank >= 1) return distance(*nth(rank)) + least;
    constexpr double far = 16;
    const auto last = nth(far - 1);
    const double first = distance(*std::min_element(values.begin(), last + 1));
    const double slope = std::log(distance(*last) / first) / std::log(far);
    return first * std::pow(rank, slope) + least;
}

}  // namespace kith::exact
