// Order statistics of many values from those of few.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace kith::exact {

// The value of that rank (from 0) of `values`, which it reorders, as a distance from `least`; of a rank below 1 the
// first ones are continued as a power of their rank.
inline double value_at_rank(std::vector<double>& values, double least, double rank) {
    std::sort(values.begin(), values.end());
    const auto at = [&](std::size_t i) { return std::max(values[std::min(i, values.size() - 1)] - least, 1e-300); };
    if (rank >= 1) return at(static_cast<std::size_t>(rank)) + least;
    constexpr std::size_t far = 16;
    const double slope = std::log(at(far - 1) / at(0)) / std::log(static_cast<double>(far));
    return at(0) * std::pow(rank, slope) + least;
}

}  // namespace kith::exact
