// How many samples lie within a radius of each, and how many are equal to it.
#pragma once

#include <cstdint>
#include <vector>

#include "estimators/sample.h"

namespace kith::estimators {

// Of each sample how many others are equal to it.
std::vector<std::int64_t> equal_counts(const Sample& sample, int threads);
// How many other samples lie within radii[i] of sample i in the maximum norm, with `open` nearer
// than that. Radii of 0 take no search.
std::vector<std::int64_t> counts_within(const Sample& sample, const std::vector<double>& radii,
                                        bool open, const Options& options);

}  // namespace kith::estimators
