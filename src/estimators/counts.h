// For each sample, the number of others within a radius, and the number equal to it.
#pragma once

#include <cstdint>
#include <vector>

#include "estimators/sample.h"

namespace kith::estimators {

// For each sample, the number of other samples equal to it.
std::vector<std::int64_t> equal_counts(const Sample& sample, int threads);
// The number of other samples within radii[i] of sample i in the maximum norm; with `open`,
// strictly nearer. Radii of 0 need no search.
std::vector<std::int64_t> counts_within(const Sample& sample, const std::vector<double>& radii,
                                        bool open, const Options& options);

}  // namespace kith::estimators
