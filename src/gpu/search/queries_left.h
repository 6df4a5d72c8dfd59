// Queries that were answered in one cluster: how far their last neighbours are, and which are left
// to a filter.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace kith::gpu {

// out[i] = the k-th of row i of keys (q x k), NaN where it is missing.
void last_keys(const std::uint64_t* keys, std::int64_t q, std::int64_t k, double* out,
               cudaStream_t stream);

// The queries that are not both ball_answered and without a reached cluster: listed in `left`,
// counted in *count, which is added to.
void list_left(const std::uint8_t* state, const std::uint8_t* reached, std::int64_t q,
               std::int64_t* left, unsigned long long* count, cudaStream_t stream);

}  // namespace kith::gpu
