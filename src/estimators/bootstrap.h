// The error of an estimate, by a bootstrap without replacement: estimates of disjoint parts of the
// samples (subsampling, Politis and Romano 1994; for Kraskov's estimators Holmes and Nemenman
// 2019).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "kith/estimators.h"

namespace kith::estimators {

// Estimates from some of the rows: of each sample that was dealt, its own; by searches with these
// options.
using Rows = std::vector<std::vector<std::int64_t>>;
using Estimator = std::function<Estimate(const Rows&, const Options&)>;

// The bootstrap with its stretch, `stretch` where the caller asks for none. Throws invalid_argument
// where the numbers make no sense for samples of these sizes, which are dealt out each by itself: a
// part has to have more than k of each.
Bootstrap checked(const Bootstrap& bootstrap, const std::vector<std::int64_t>& sizes,
                  std::int64_t k, std::int64_t stretch = 1);

// `whole` with its error, where one is asked for; `bootstrap` is checked. The searches of parts
// have `search_as` but for its progress, which counts parts: each may be too short for a report of
// its own. Throws invalid_argument where `whole` has no samples, or a part has none; cancelled.
Estimate with_error(Estimate whole, const std::vector<std::int64_t>& sizes,
                    const Bootstrap& bootstrap, const Options& search_as,
                    const Estimator& estimate);

}  // namespace kith::estimators
