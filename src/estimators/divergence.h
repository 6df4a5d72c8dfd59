// The divergence of samples whose distances among themselves are known.
#pragma once

#include "estimators/sample.h"

namespace kith::estimators {

// Throws invalid_argument for a metric that no divergence takes.
void check_divergence_metric(const Metric& metric);

// Of each sample the k-th nearest of others, and its distance.
struct KthNeighbors {
    std::vector<std::int64_t> ids;
    std::vector<double> distances;
};
// The last of the k neighbours of each.
KthNeighbors kth_of(const Neighbors& neighbors);

// The divergence of p from q; `in_own`: of the graph of p, by `search_as` (search_options()). Where
// all samples are left out the value is -infinity if each has k equal ones in q, the limit of
// samples ever nearer, else NaN.
Estimate divergence_of(const Sample& p, const KthNeighbors& in_own, const Sample& q, std::int64_t k,
                       DivergenceForm form, const Options& search_as);

}  // namespace kith::estimators
