// Points prepared as a ball-cover partition (clusters): a sample decides whether that pays, and the
// points are permuted into cluster order.
#pragma once

#include <optional>

#include "gpu/filter/partition/clusters.h"
#include "gpu/points/points.h"

namespace kith::gpu {

struct Clusters {
    ClusterView view;
    Buffer<char> centres;  // owned, as are the next three; `view` points to them
    Buffer<float> half_square;
    Buffer<ClusterBound> bounds;
    Buffer<std::uint32_t> begin;
    // Set if nearly every query that resembles the points has all its candidates in its nearest
    // cluster. The rows of all points, cluster by cluster, and the offset of each cluster. Rows
    // that are in no cluster of `view` are with their nearest one. Bounds cover all of these rows.
    Buffer<std::uint32_t> rows, row_begin;
    std::int64_t largest = 0;  // points of the largest cluster of `rows`
};

// Makes clusters around rows of a sample for the points of `filter`, which is filled again in
// cluster order (FilterVectors::order). Returns nullopt if the clusters exclude too little of
// another sample, unless `always`. Also returns nullopt if the points are too few or their form
// cannot be clustered. Synchronises.
std::optional<Clusters> find_clusters(const DeviceRows& points, const DeviceMetric& metric,
                                      FilterVectors& filter, FilterIsa isa, bool always,
                                      cudaStream_t stream);

}  // namespace kith::gpu
