// Canonical distance keys of queries with all points of one cluster each (filter/clusters.h). The
// queries of a cluster are compared with it together: each row is read once for all of them.
#pragma once

#include "gpu/metric/kernels.h"

namespace kith::gpu {

// All on the device.
struct ClusterKeysTask {
    PreparedRows queries, points;
    const std::int64_t* self = nullptr;    // per query: the row to leave out, or null
    const std::uint32_t* own = nullptr;    // per query: its cluster
    const std::uint32_t* rows = nullptr;   // of the points, cluster by cluster
    const std::uint32_t* begin = nullptr;  // clusters + 1: where in `rows` each begins
    std::int64_t clusters = 0, d = 0, k = 0;
    // Per query counts[i] keys with their rows, `capacity` apart, the k smallest of the cluster
    // among them by (key, row); none where these did not fit.
    std::uint64_t* keys = nullptr;
    std::uint32_t* ids = nullptr;
    std::int32_t* counts = nullptr;
    std::int64_t capacity = 0;
    unsigned long long* pairs = nullptr;  // how many were compared; added to
};

// Of the metrics whose distance key is the sum of squares.
bool has_cluster_keys(MetricId metric, std::int64_t d);
void cluster_keys(const ClusterKeysTask& task, cudaStream_t stream);

// The capacity that nearly every cluster's keys fit in, of clusters of up to `largest` points in no
// order.
std::int64_t cluster_keys_capacity(std::int64_t k, std::int64_t largest);
// How many keys of a cluster of `points` points in no order are kept, with two deviations.
std::int64_t cluster_keys_kept(std::int64_t k, std::int64_t points);

}  // namespace kith::gpu
