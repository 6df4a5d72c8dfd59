// Whether boxes of a k-d tree would leave out most points of more coordinates than trees are made
// for by their shape: those of tables whose columns have units of their own differ along a few
// columns alone.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "metric/metric.h"

namespace kith::exact {

// Up to so many dimensions boxes are taken to leave out most points whatever these are like; of
// more, where a sample says so.
inline constexpr std::int64_t tree_dimensions = 8;
// Coordinates that boxes are looked at along: where others are about as wide they leave little out.
inline constexpr std::int64_t most_split_coordinates = 4;

struct BoxTrial {
    const metric::Traits& traits;  // of a monotone metric
    std::int64_t d, n;             // n: of all points
    std::int64_t leaf;             // points of a box
    std::int64_t axes;             // first coordinates that boxes are split along
    std::int64_t k = 10;           // neighbours of a typical query
};

// Of rows of a sample, d values each, as the metric maps them; rows that are not finite count for
// nothing. The share of the points that a query like them would look at for k neighbours, about; 1
// where boxes would be split along more coordinates more often than not, or there are too few rows
// to say.
double share_in_boxes(const BoxTrial& trial, std::vector<double> rows);

// So many evenly spaced rows of the points, at most n.
using Sampler = std::function<std::vector<double>(std::int64_t rows)>;
// When a tree takes less than filters, on the device that it is for.
struct BoxLimits {
    std::int64_t sampled_rows;  // as many as tell, where there are as many
    double most_in_boxes;       // share of the points that a query may look at
};
// Whether boxes leave out enough. A few rows say it of most points that they do not.
bool boxes_pay(const BoxTrial& trial, const BoxLimits& limits, const Sampler& sample);

}  // namespace kith::exact
