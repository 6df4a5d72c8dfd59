// Rows in the order of their clusters (clusters.h). All on the device; every function enqueues.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace kith::gpu {

// out[i] = row order[i] of `count` vectors.
void permute_vectors(const void* vectors, const std::uint32_t* order, std::int64_t count,
                     std::int64_t width, void* out, cudaStream_t stream);

// How many of `rows` rows are of each cluster, as ClusterView::begin; at most 2^16 clusters.
void cluster_begins(const std::uint32_t* clusters, std::int64_t rows, std::int64_t count,
                    std::uint32_t* begin, cudaStream_t stream);

// Of queries in the order of their clusters, those of each group dealt out to the warps of the
// filter: neighbours in a cluster have the same candidates, which one warp would append one after
// the other.
void deal_queries(const std::uint32_t* ordered, std::int64_t q, std::int64_t* out,
                  cudaStream_t stream);

// order[p]: the row at position p of n, where those from `first` on are members (less first) of the
// order before, in which the row at position p is p * stride mod n.
void ordered_rows(const std::uint32_t* members, std::int64_t first, std::int64_t n,
                  std::uint32_t stride, std::uint32_t* order, cudaStream_t stream);

}  // namespace kith::gpu
