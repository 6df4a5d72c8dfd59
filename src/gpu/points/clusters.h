// Points prepared in clusters: whether that pays, by a sample, and the order in which the points come then.
#pragma once

#include <optional>

#include "gpu/filter/relative.h"
#include "gpu/points/points.h"

namespace kith::gpu {

// The points once more, relative to the centres of their clusters.
struct RelativeVectors {
    RelativeView view;
    Buffer<char> vectors;  // what `view` points into
    Buffer<float> half_norm;
    Buffer<RelativeTile> tiles;
    Buffer<std::uint32_t> tile_begin;
    Buffer<RelativeBound> bounds;
    Buffer<float> no_error;  // zeros, by position
};

struct Clusters {
    ClusterView view;
    Buffer<char> centres;  // what `view` points into
    Buffer<float> half_square;
    Buffer<ClusterBound> bounds;
    Buffer<std::uint32_t> begin;
    std::optional<RelativeVectors> relative;  // of squared distances, where there is memory for it
};

// Clusters of the points of `filter`, which is filled again in their order (FilterVectors::order): around rows of a
// sample, where these leave out enough of another sample, or `always`. None where the points are too few or their form
// has none. Synchronises.
std::optional<Clusters> find_clusters(const DeviceRows& points, const DeviceMetric& metric, FilterVectors& filter,
                                      FilterIsa isa, bool always, cudaStream_t stream);

}  // namespace kith::gpu
