// Every tuning number of the GPU backend and the sizes that follow from it. Plain host code: the planner and the run
// use the same functions, so a plan's workspace is what the run allocates.
#pragma once

#include <algorithm>
#include <cstdint>

namespace kith::gpu::tuning {

// Queries per tile of the filter: enough columns to fill the matrix units. H200, 2026-11-21, n 2^20, q 8,192, k 100:
// 8,192 x 65,536 gives 387, 329, 156 G/s at d 16, 128, 768; 2,048 x 8,192 gives 252, 233, 128.
inline constexpr std::int64_t filter_query_tile = 8192;
// Points per tile at 8,192 queries; fewer queries take more, so that a tile of products stays this large (2 GiB of
// f32).
inline constexpr std::int64_t filter_point_tile = 1 << 16;
inline std::int64_t filter_points(std::int64_t queries) {
    return filter_point_tile * std::clamp<std::int64_t>(filter_query_tile / std::max<std::int64_t>(queries, 1), 1, 256);
}
// Queries and points per tile of the canonical scan, in binary64; as above.
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
// Beyond, the filter's bound on accumulated roundings says nothing.
inline constexpr std::int64_t filter_max_dimensions = 65536;

// Entries of 12 bytes that one block sorts in shared memory; longer rows are sorted by CUB, out of place, twice.
inline constexpr std::int64_t sort_in_shared = 8192;

// ---- device memory that a tile takes: the planner and the run agree through these

// Prepared points: the elements (unless they are the caller's) and, for the filter, rounded vectors.
inline double point_bytes(std::int64_t d, std::int64_t element, bool filter, bool copied) {
    const double dims = static_cast<double>(d);
    return (copied ? dims * static_cast<double>(element) : 0) + (filter ? 4 * (dims + 11) + 4 : 0) + 17;
}

// Buffers of a selection and of sorting what it kept.
inline double selection_bytes(std::int64_t rows, std::int64_t k, std::int64_t cols, std::int64_t entry_bytes) {
    const double slots = static_cast<double>(rows * select_slices(rows, k, cols));
    const double entries = slots * static_cast<double>(candidate_capacity(k));
    const bool cub = candidate_capacity(k) > sort_in_shared;
    return entries * static_cast<double>(entry_bytes + (cub ? 24 + 6 : 0)) + slots * 24 + (cub ? 1 << 20 : 0);
}

// What a tile of queries takes however it is searched: elements, auxiliary values, results.
inline double query_bytes(std::int64_t q, std::int64_t d, std::int64_t element, std::int64_t k) {
    return static_cast<double>(q) * (static_cast<double>(d * element) + 32 + static_cast<double>(k) * (12 + 32 + 8));
}

inline double filter_bytes(std::int64_t q, std::int64_t points, std::int64_t d, std::int64_t k) {
    // Per candidate: key, value, id, refined key.
    return static_cast<double>(q) * (4.0 * static_cast<double>(points + 4) + 4.0 * static_cast<double>(d + 11) + 8) +
           selection_bytes(q, k, points, 20);
}

inline double scan_bytes(std::int64_t q, std::int64_t points, std::int64_t d, std::int64_t k, bool user) {
    return static_cast<double>(q) * static_cast<double>(points) * (user ? 16 : 8) +
           8.0 * static_cast<double>(d * (q + points)) + selection_bytes(q, k, points, 12);
}

}  // namespace kith::gpu::tuning
