// Points prepared in clusters: whether that pays, by a sample, and the order in which the points
// come then.
#pragma once

#include <optional>

#include "gpu/filter/clusters.h"
#include "gpu/points/points.h"

namespace kith::gpu {

struct Clusters {
    ClusterView view;
    Buffer<char> centres;  // what `view` points into
    Buffer<float> half_square;
    Buffer<ClusterBound> bounds;
    Buffer<std::uint32_t> begin;
    // Where nearly every query that is as the points has candidates in the cluster nearest to it
    // alone: the rows of all points, those in no cluster of `view` with the nearest too, cluster by
    // cluster, and where each begins. Bounds are of all of them.
    Buffer<std::uint32_t> rows, row_begin;
    std::int64_t largest = 0;  // points of a cluster, of `rows`
};

// Clusters of the points of `filter`, which is filled again in their order (FilterVectors::order):
// around rows of a sample, where these leave out enough of another sample, or `always`. None where
// the points are too few or their form has none. Synchronises.
std::optional<Clusters> find_clusters(const DeviceRows& points, const DeviceMetric& metric,
                                      FilterVectors& filter, FilterIsa isa, bool always,
                                      cudaStream_t stream);

}  // namespace kith::gpu
