// The candidates of a graph whose pairs of blocks several devices share: each pair is computed once, by one of them,
// for its rows and its columns; each device ends with the candidates of its own rows.
#pragma once

#include "gpu/filter/candidate_lists.h"
#include "gpu/points/points.h"
#include "gpu/search/graph_exchange.h"

namespace kith::gpu {

// Appends to a part's own lists what all parts find for them beyond the samples. `pass`: as of all rows of the graph by
// position, but for its lists and thresholds, behind the samples; `needed`: the list that the longest needs for all
// points; `wanted`: neighbours, the point itself included. Throws GraphAbandoned where another part fails, or the
// filters differ.
void share_candidates(const GraphShare& share, const CandidateLists& own, const FilterVectors& filter, FilterPass pass,
                      std::int64_t needed, std::int64_t wanted, std::int64_t d, cudaStream_t stream);

}  // namespace kith::gpu
