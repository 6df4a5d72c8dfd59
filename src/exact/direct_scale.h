// Centre and scale of a direct form's words, from a sample of the points. Neither affects the
// answer: a bad choice costs candidates.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "exact/direct_form.h"

namespace kith::exact {

// The median, not a mean of two; `values`, at least one, change their order.
double middle(std::vector<double>& values);

// Rows of a sample, `stride` values apart.
struct DirectSample {
    const double* rows;
    std::int64_t count, d, stride;
    double at(std::int64_t row, std::int64_t i) const { return rows[row * stride + i]; }
};
// The power of two by which coordinates are scaled, from the largest differences of coordinates of
// successive rows: typical ones become about 1, so that powers neither overflow nor underflow. That
// of a key leaves room for binary64's own range.
double direct_scale(const DirectForm& form, const DirectSample& sample);
// The medians of the coordinates: coarse where rows differ, so that data of few bits keep
// coordinates that f32 holds.
std::vector<double> direct_centre(const DirectSample& sample, double scale);
// Centre and scale of a coarse form's words, and how the cost of rounding is best split
// (rounding_cost); none where the sample says that its error would leave too many candidates.
struct CoarseScale {
    std::vector<double> centre;  // empty where the words have none
    double scale = 1, split = 0;
};
std::optional<CoarseScale> coarse_scale(const DirectForm& form, const DirectSample& sample,
                                        ElementType type);

}  // namespace kith::exact
