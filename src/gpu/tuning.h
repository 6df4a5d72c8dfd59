// Every tuning number of the GPU backend and the sizes that follow from it. Plain host code: the planner and the run
// use the same functions, so a plan's workspace is what the run allocates.
#pragma once

#include <algorithm>
#include <cstdint>

namespace kith::gpu::tuning {

// Queries per tile of the filter: enough columns to fill the matrix units, few enough that a tile of products and its
// candidates stay in a modest workspace.
inline constexpr std::int64_t filter_query_tile = 8192;
// Points per tile at most: 2^16 x 8,192 f32 is 2 GiB of products.
inline constexpr std::int64_t filter_point_tile = 1 << 16;
// Queries and points per tile of the canonical scan, in binary64.
inline constexpr std::int64_t exact_query_tile = 2048;
inline constexpr std::int64_t exact_point_tile = 1 << 16;
// Candidates per query that the filter may keep between two compactions.
inline std::int64_t candidate_capacity(std::int64_t k) {
    return std::max<std::int64_t>(1024, 4 * k + 512);
}
// Above this share of the points the row-wise scan is cheaper than filtering.
inline constexpr double filter_max_share = 0.05;
inline constexpr std::int64_t filter_max_k = 8192;

// Bytes per (query, point) of a tile, and per query beside it.
inline std::int64_t filter_query_bytes(std::int64_t d, std::int64_t capacity, std::int64_t k) {
    return 4 * d + 64 + capacity * (4 + 4 + 8 + 16) + k * 32;
}
inline std::int64_t exact_query_bytes(std::int64_t d, std::int64_t k) {
    return 8 * d + 64 + k * 64;
}
inline std::int64_t exact_point_bytes(std::int64_t d) {
    return 8 * d + 32;
}

}  // namespace kith::gpu::tuning
