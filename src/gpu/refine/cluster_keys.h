// Canonical distance keys of queries with all points of one cluster each (ball-cover partition,
// filter/clusters.h). Queries of a cluster are compared with it together: each row is read once for
// up to eight of them.
#pragma once

#include "gpu/metric/kernels.h"

namespace kith::gpu {

// All pointers are to device memory.
struct ClusterKeysTask {
    PreparedRows queries, points;
    const std::int64_t* self = nullptr;    // per query: the row to leave out, or null
    const std::uint32_t* own = nullptr;    // per query: its cluster
    const std::uint32_t* rows = nullptr;   // row indices of the points, cluster by cluster
    const std::uint32_t* begin = nullptr;  // clusters + 1: the start of each in `rows`
    std::int64_t clusters = 0, d = 0, k = 0;
    // Output: counts[i] keys with their rows for query i, `capacity` apart. They include the k
    // smallest of the cluster by (key, row). If they did not fit, counts[i] is 0.
    std::uint64_t* keys = nullptr;
    std::uint32_t* ids = nullptr;
    std::int32_t* counts = nullptr;
    std::int64_t capacity = 0;
    unsigned long long* pairs = nullptr;  // number of pairs compared; added to
};

// True if the metric's distance key is a sum of squares and d is not too large.
bool has_cluster_keys(MetricId metric, std::int64_t d);
void cluster_keys(const ClusterKeysTask& task, cudaStream_t stream);

// A capacity that holds the keys of nearly every cluster, for clusters of up to `largest` points in
// no order.
std::int64_t cluster_keys_capacity(std::int64_t k, std::int64_t largest);
// The number of keys that are kept of a cluster of `points` points in no order, plus two
// deviations.
std::int64_t cluster_keys_kept(std::int64_t k, std::int64_t points);

}  // namespace kith::gpu
