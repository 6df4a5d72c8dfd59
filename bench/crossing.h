// Where two measured curves cross, and straight lines through points.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace kith::bench {

// The x at which `flat` falls below `rising`, by straight lines between the x that were measured; NaN: nowhere.
inline double crossing(const std::vector<std::int64_t>& at, const std::vector<double>& rising,
                       const std::vector<double>& flat) {
    for (std::size_t i = 1; i < at.size(); ++i) {
        const double before = flat[i - 1] - rising[i - 1], after = flat[i] - rising[i];
        if (before < 0 || !(after < 0)) continue;
        const double from = static_cast<double>(at[i - 1]), to = static_cast<double>(at[i]);
        return from + (to - from) * before / (before - after);
    }
    return std::numeric_limits<double>::quiet_NaN();
}

struct StraightLine {
    double slope = std::numeric_limits<double>::quiet_NaN(), intercept = std::numeric_limits<double>::quiet_NaN();
};

// Least squares through the points whose y is a number; NaN where they are fewer than two.
inline StraightLine line_through(const std::vector<double>& xs, const std::vector<double>& ys) {
    double count = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (std::size_t i = 0; i < xs.size(); ++i) {
        if (std::isnan(ys[i])) continue;
        count += 1, x += xs[i], y += ys[i], xx += xs[i] * xs[i], xy += xs[i] * ys[i];
    }
    StraightLine line;
    if (count < 2) return line;
    line.slope = (count * xy - x * y) / (count * xx - x * x);
    line.intercept = (y - line.slope * x) / count;
    return line;
}

}  // namespace kith::bench
