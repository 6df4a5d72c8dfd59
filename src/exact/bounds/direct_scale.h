// Centre and scale of a direct form's words, from a sample of the points. Neither affects the
// answer: a bad choice costs candidates.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "exact/direct_form.h"

namespace kith::exact {

// The upper median, not a mean of two. `values` must not be empty, and are reordered.
double middle(std::vector<double>& values);

// Rows of a sample, `stride` values apart.
struct DirectSample {
    const double* rows;
    std::int64_t count, d, stride;
    const double* row(std::int64_t i) const { return rows + i * stride; }
    double at(std::int64_t row, std::int64_t i) const { return rows[row * stride + i]; }
};
// The power of two that scales the coordinates, from the largest differences of coordinates of
// successive rows. Typical differences become about 1, so that powers neither overflow nor
// underflow. The scale of a key stays well within binary64's range.
double direct_scale(const DirectForm& form, const DirectSample& sample);
// The medians of the coordinates, rounded to a grid where rows differ, so that data of few bits
// keep coordinates that f32 holds exactly.
std::vector<double> direct_centre(const DirectSample& sample, double scale);
// Centre and scale of a coarse form's words, and the best split of the rounding cost
// (rounding_cost). None if the sample predicts that the error leaves too many candidates.
struct CoarseScale {
    std::vector<double> centre;  // empty if the words have none
    double scale = 1, split = 0;
};
std::optional<CoarseScale> coarse_scale(const DirectForm& form, const DirectSample& sample,
                                        ElementType type);

}  // namespace kith::exact
