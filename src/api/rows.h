// Rows of results put together, and rows of a graph that leave out their own point.
#pragma once

#include <cstdint>

#include "cpu/metric/reported_distance.h"
#include "exact/row_range.h"
#include "kith/shards.h"
#include "kith/types.h"

namespace kith::api {

using exact::rows_of;

// All rows of `found` to a result, wherever it lies.
void put(const Neighbors& found, const NeighborsView& out);
// Rows of k + 1 neighbours to rows of k: row i without id first + i where it is there, else without
// the last.
void put_without_own(const Neighbors& found, std::int64_t first, const NeighborsView& out);

// What a metric reports of the keys of shards, which are wide (MetricSpec).
cpu::ReportedDistance distances_of_shards(const Metric& metric, std::int64_t dimensions);
// The neighbours with their distances.
Neighbors reported_neighbors(const PartialNeighbors& partial, const cpu::ReportedDistance& reported,
                             bool f64);

// Rows [first, last) of `into`: the nearest of both, each neighbour once. Both are of one shape.
void merge_rows(PartialNeighbors& into, const PartialNeighbors& other, std::int64_t first,
                std::int64_t last);

}  // namespace kith::api
