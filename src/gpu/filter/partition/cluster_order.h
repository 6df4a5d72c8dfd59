// The permutation of rows by cluster (clusters.h). All arrays are on the device; every function
// enqueues.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace kith::gpu {

// out[i] = row order[i] of `count` vectors.
void permute_vectors(const void* vectors, const std::uint32_t* order, std::int64_t count,
                     std::int64_t width, void* out, cudaStream_t stream);

// Offsets of the clusters of `rows` rows, as in ClusterView::begin; at most 2^16 clusters.
void cluster_begins(const std::uint32_t* clusters, std::int64_t rows, std::int64_t count,
                    std::uint32_t* begin, cudaStream_t stream);

// Interleaves queries that are in cluster order: consecutive queries of a group go to different
// warps of the filter. Queries of a cluster share candidates, which one warp would append one after
// the other.
void deal_queries(const std::uint32_t* ordered, std::int64_t q, std::int64_t* out,
                  cudaStream_t stream);

// order[p]: the row at position p of n. Positions from `first` on hold members (less first) of the
// previous order, which has row p * stride mod n at position p.
void ordered_rows(const std::uint32_t* members, std::int64_t first, std::int64_t n,
                  std::uint32_t stride, std::uint32_t* order, cudaStream_t stream);

}  // namespace kith::gpu
