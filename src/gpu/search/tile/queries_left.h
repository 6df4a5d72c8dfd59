// Queries that one cluster has answered: the keys of their last neighbours, and the queries left
// for a filter.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace kith::gpu {

// out[i] = the k-th of row i of keys (q x k), NaN where it is missing.
void last_keys(const std::uint64_t* keys, std::int64_t q, std::int64_t k, double* out,
               cudaStream_t stream);

// Appends to `left` the queries that are not ball_answered, or that reach another cluster. Adds
// their number to *count.
void list_left(const std::uint8_t* state, const std::uint8_t* reached, std::int64_t q,
               std::int64_t* left, unsigned long long* count, cudaStream_t stream);

}  // namespace kith::gpu
