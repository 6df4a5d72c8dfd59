// Combines rows of results, and removes a graph row's own point.
#pragma once

#include <cstdint>

#include "cpu/metric/reported_distance.h"
#include "exact/row_range.h"
#include "kith/shards.h"
#include "kith/types.h"

namespace kith::api {

using exact::rows_of;

// Copies all rows of `found` to a result in host or device memory.
void put(const Neighbors& found, const NeighborsView& out);
// Converts rows of k + 1 neighbours to rows of k: row i without id first + i if it is there, else
// without the last.
void put_without_own(const Neighbors& found, std::int64_t first, const NeighborsView& out);

// Reported distances for the keys of shards, which are wide (MetricSpec).
cpu::ReportedDistance distances_of_shards(const Metric& metric, std::int64_t dimensions);
// Converts keys to distances.
Neighbors reported_neighbors(const PartialNeighbors& partial, const cpu::ReportedDistance& reported,
                             bool f64);

// Merges rows [first, last) of `other` into `into`: the nearest of both, each neighbour once. Both
// have one shape.
void merge_rows(PartialNeighbors& into, const PartialNeighbors& other, std::int64_t first,
                std::int64_t last);

}  // namespace kith::api
