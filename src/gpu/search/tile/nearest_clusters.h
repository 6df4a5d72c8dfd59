// Neighbours of queries whose candidates all lie in one cluster of the points: canonical distances
// to the points of that cluster alone.
#pragma once

#include "gpu/points/partition/clusters.h"
#include "gpu/runtime/memory/pinned_words.h"
#include "gpu/search/tile/tile_search.h"

namespace kith::gpu {

// The results that answer_in_clusters() enqueued.
struct ClusterAnswers {
    TileResult result;          // void in the rows of the queries that are left
    Buffer<std::int64_t> left;  // numbers of the queries left; totals says how many
    PinnedWords totals;         // [0] pairs that were compared, [1] queries left
};

// True if one cluster may answer the queries of a search, with lists of that capacity. Then it
// answers nearly all queries that are distributed like the points.
bool answers_in_clusters(const Clusters& clusters, std::int64_t n, std::int64_t q, std::int64_t k,
                         std::int64_t capacity);

// The k nearest points of each query, if they are known to lie in the cluster with the nearest
// centre. The other queries are left. Enqueues.
ClusterAnswers answer_in_clusters(const Chunk& chunk, const Clusters& clusters,
                                  const DeviceMetric& metric, const QueryTile& queries,
                                  std::int64_t k, const Plan& plan, cudaStream_t stream);

}  // namespace kith::gpu
