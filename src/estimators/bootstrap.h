// The error of an estimate by a bootstrap without replacement, from estimates of disjoint parts of
// the samples (subsampling, Politis and Romano 1994; for Kraskov's estimators Holmes and Nemenman
// 2019).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "kith/estimators.h"

namespace kith::estimators {

// Computes an estimate from a subset of the rows of each sample that was split, by searches with
// these options.
using Rows = std::vector<std::vector<std::int64_t>>;
using Estimator = std::function<Estimate(const Rows&, const Options&)>;

// The bootstrap with its stretch, which defaults to `stretch`. Throws invalid_argument if the
// numbers do not suit samples of these sizes. Each sample is split separately, and a part needs
// more than k rows of each.
Bootstrap checked(const Bootstrap& bootstrap, const std::vector<std::int64_t>& sizes,
                  std::int64_t k, std::int64_t stretch = 1);

// Adds to `whole` its error, if requested; `bootstrap` has been through checked(). The searches of
// parts use `search_as`, except its progress, which counts parts: each may be too short for a
// report of its own. Throws invalid_argument if `whole` or a part has no samples; cancelled.
Estimate with_error(Estimate whole, const std::vector<std::int64_t>& sizes,
                    const Bootstrap& bootstrap, const Options& search_as,
                    const Estimator& estimate);

}  // namespace kith::estimators
