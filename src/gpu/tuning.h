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
// Entries per row (or slice of a row) that a selection may keep between two compactions: k survivors, as many again so
// that a compaction pays, and one step of a block.
inline std::int64_t candidate_capacity(std::int64_t k) {
    return (2 * k + 1024 + 1023) / 1024 * 1024;
}
// Slices per row: enough blocks to fill the device where rows are few, each slice long against what it keeps.
inline constexpr std::int64_t select_blocks = 132 * 8;
inline std::int64_t select_slices(std::int64_t rows, std::int64_t k, std::int64_t cols) {
    const std::int64_t fill = (select_blocks + rows - 1) / rows;
    const std::int64_t worth = cols / std::max<std::int64_t>(8192, 16 * k);
    return std::clamp<std::int64_t>(std::min(fill, worth), 1, 256);
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
