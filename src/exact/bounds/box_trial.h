// Decides whether the boxes of a k-d tree prune most points in more dimensions than trees normally
// serve. They do for tables where a few columns have far larger units, hence spreads, than the
// others.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "metric/metric.h"

namespace kith::exact {

// Up to this dimension boxes are assumed to prune most points. Beyond it a sample decides.
inline constexpr std::int64_t tree_dimensions = 8;
// Most coordinates that boxes are split along: if more are about as wide, boxes prune little.
inline constexpr std::int64_t most_split_coordinates = 4;

struct BoxTrial {
    const metric::Traits& traits;  // of a monotone metric
    std::int64_t d, n;             // n: the number of all points
    std::int64_t leaf;             // points per box
    std::int64_t axes;             // leading coordinates that boxes are split along
    std::int64_t k = 10;           // neighbours of a typical query
};

// Estimates the share of the points that a query visits for k neighbours. `rows`: a sample, d
// values each, mapped by the metric; rows that are not finite are ignored. Returns 1 if most splits
// fall on more coordinates, or there are too few rows to tell.
double share_in_boxes(const BoxTrial& trial, std::vector<double> rows);

// Returns this many evenly spaced rows of the points, at most n.
using Sampler = std::function<std::vector<double>(std::int64_t rows)>;
// When a tree is faster than filters on the device.
struct BoxLimits {
    std::int64_t sampled_rows;  // rows needed for an estimate, if there are as many
    double most_in_boxes;       // largest share of the points that a query may visit
};
// True if boxes prune enough. A few rows suffice to reject most point sets.
bool boxes_pay(const BoxTrial& trial, const BoxLimits& limits, const Sampler& sample);

}  // namespace kith::exact
