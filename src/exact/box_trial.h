// Whether boxes of a k-d tree would leave out most points of more coordinates than trees are made for by their shape:
// those of tables whose columns have units of their own differ along a few columns alone.
#pragma once

#include <cstdint>
#include <vector>

#include "metric/metric.h"

namespace kith::exact {

// Coordinates that boxes are looked at along: where others are about as wide they leave little out.
inline constexpr std::int64_t most_split_coordinates = 4;

struct BoxTrial {
    const metric::Traits& traits;  // of a monotone metric
    std::int64_t d, n, k;          // n: of all points
    std::int64_t leaf;             // points of a box
    std::int64_t axes;             // first coordinates that boxes are split along
};

// Of rows of a sample, d each, as the metric maps them; rows that are not finite count for nothing. Whether boxes would
// be split along few coordinates, more often than not: a few rows say so.
bool splits_few(const BoxTrial& trial, std::vector<double> rows);
// The share of the points that a query like them would look at for k neighbours, about; 1 where boxes would be split
// along more coordinates, or there are too few rows to say.
double share_in_boxes(const BoxTrial& trial, std::vector<double> rows);

}  // namespace kith::exact
