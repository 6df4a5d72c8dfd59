// The divergence of samples whose distances among themselves are known.
#pragma once

#include "estimators/sample.h"

namespace kith::estimators {

// Throws invalid_argument for a metric that no divergence takes.
void check_divergence_metric(const Metric& metric);

// The divergence of p from q; `in_own`: the graph of p, k neighbours each, by `search_as` (search_options()).
Estimate divergence_of(const Sample& p, const Neighbors& in_own, const Sample& q, std::int64_t k, DivergenceForm form,
                       const Options& search_as);

}  // namespace kith::estimators
