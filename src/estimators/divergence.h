// The divergence of samples with known distances among themselves.
#pragma once

#include "estimators/sample.h"

namespace kith::estimators {

// Throws invalid_argument for a metric that the divergence does not support.
void check_divergence_metric(const Metric& metric);

// For each sample, its k-th nearest neighbour and the distance.
struct KthNeighbors {
    std::vector<std::int64_t> ids;
    std::vector<double> distances;
};
// The last of the k neighbours of each sample.
KthNeighbors kth_of(const Neighbors& neighbors);

// The divergence of p from q. `in_own`: from the graph of p, searched with `search_as`
// (search_options()). If all samples are left out, the value is -infinity if each has k equal ones
// in q, the limit of samples that approach each other; else NaN.
Estimate divergence_of(const Sample& p, const KthNeighbors& in_own, const Sample& q, std::int64_t k,
                       DivergenceForm form, const Options& search_as);

}  // namespace kith::estimators
