// Classification by the majority of the nearest neighbours' labels.
#pragma once

#include <cstdint>
#include <vector>

#include "kith/types.h"

namespace kith::cli {

// The label of most of the first k neighbours of a row; among equals, the one whose first member is nearest.
int vote(const Neighbors& neighbors, std::int64_t row, std::int64_t k, const std::vector<std::int64_t>& labels);

// The share of rows whose vote is their own label.
double accuracy(const Neighbors& neighbors, std::int64_t k, const std::vector<std::int64_t>& labels,
                const std::vector<std::int64_t>& own_labels);

}  // namespace kith::cli
