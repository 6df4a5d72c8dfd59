// Neighbours of queries whose candidates all lie in one cluster of the points: by canonical
// distances with that one alone.
#pragma once

#include "gpu/points/clusters.h"
#include "gpu/runtime/pinned_words.h"
#include "gpu/search/tile_search.h"

namespace kith::gpu {

// What answer_in_clusters() enqueued.
struct ClusterAnswers {
    TileResult result;          // void in the rows of the queries that are left
    Buffer<std::int64_t> left;  // these; totals says how many
    PinnedWords totals;         // [0] pairs that were compared, [1] queries left
};

// Whether queries of a search may be answered so, in lists of that capacity: nearly all of those
// that are as the points are.
bool answers_in_clusters(const Clusters& clusters, std::int64_t n, std::int64_t q, std::int64_t k,
                         std::int64_t capacity);

// The k nearest points of each query, as far as they are known to lie in the cluster whose centre
// is nearest. Enqueues.
ClusterAnswers answer_in_clusters(const Chunk& chunk, const Clusters& clusters,
                                  const DeviceMetric& metric, const QueryTile& queries,
                                  std::int64_t k, const Plan& plan, cudaStream_t stream);

}  // namespace kith::gpu
