// Every tuning number of the GPU backend and the sizes that follow from it. Plain host code: the planner and the run
// use the same functions, so a plan's workspace is what the run allocates.
#pragma once

#include <algorithm>
#include <cstdint>

#include "gpu/filter/levels.h"

namespace kith::gpu::tuning {

// Queries per tile of the fused filter: enough to fill the device with blocks of 128 and to make the levels of samples
// cheap; more only makes lists larger.
inline constexpr std::int64_t filter_query_tile = 1 << 16;
// Queries whose values of the first sample lie in memory at a time: few enough that they stay in L2.
inline constexpr std::int64_t dense_queries = 4096;
// Points and dimensions from which a graph's tiles serve both of their sides: half of the products, but more to
// compare.
inline constexpr std::int64_t symmetric_points = 1 << 18, symmetric_dimensions = 48;
// And up to which: all queries go at once, so not so many that a search says nothing for seconds; and a stage of the
// kernel's ring is held for a tile, which leaves too few for vectors of more than two chunks of 64.
inline constexpr std::int64_t symmetric_most_points = 3 << 19, symmetric_most_dimensions = 128;
// Queries that take about half a second at most, so that progress can be reported and a search cancelled between tiles.
inline std::int64_t responsive_queries(std::int64_t n, std::int64_t d) {
    const double pairs = 0x1p40 * 128 / static_cast<double>(std::max<std::int64_t>(d, 128));
    return std::max<std::int64_t>(1024, static_cast<std::int64_t>(pairs / static_cast<double>(n)));
}
// Queries without a certificate that go through the filter once more, and tiles of the canonical scan for those that
// are left, at most; see retry_step and rescan_tile.
inline constexpr std::int64_t retry_queries = 1024, rescan_queries = 256, rescan_points = 1 << 14;
// From so many queries on, two terms of fp16 are cheaper than scanning for those that one term cannot tell apart.
inline constexpr std::int64_t finer_queries = 32;
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
// Above this share of the points the row-wise scan is cheaper than filtering; with more neighbours the lists of
// survivors are more than a block holds.
inline constexpr double filter_max_share = 0.05;
inline constexpr std::int64_t filter_max_k = 8192;
// Beyond, the filter's bound on accumulated roundings says nothing.
inline constexpr std::int64_t filter_max_dimensions = 65536;
// Beyond, multiplying by a factor (metric::Traits::factored) is no longer small beside the search.
inline constexpr std::int64_t factored_max_dimensions = 4096;
// Rows that are multiplied by a factor at a time: 8 MiB of coordinates, whole blocks, at least all of a sample.
inline std::int64_t factored_rows(std::int64_t d) {
    return std::max<std::int64_t>(256, (std::int64_t{1} << 20) / d / 256 * 256);
}

// Entries of 12 bytes that one block sorts in shared memory; longer rows are sorted by CUB, out of place, twice.
inline constexpr std::int64_t sort_in_shared = 8192;

// Pageable memory goes to the device through pinned blocks: large enough that the gap between two copies is small
// against the copy, together small enough for the processor's cache. One thread packs about 10 GB/s, the bus takes 50.
inline constexpr std::int64_t upload_block = std::int64_t{2} << 20;
inline constexpr int upload_threads = 8;
// Below, starting threads costs more than the driver's own staging.
inline constexpr std::int64_t upload_staged = std::int64_t{1} << 20;

// ---- device memory that a tile takes: the planner and the run agree through these

// Prepared points: the elements (unless they are the caller's) and, for the filter, rounded vectors.
inline double point_bytes(std::int64_t d, std::int64_t element, bool filter, bool copied) {
    const double dims = static_cast<double>(d);
    return (copied ? dims * static_cast<double>(element) : 0) +
           (filter ? 2 * static_cast<double>(filter_width(d, 1)) + 8 : 0) + 17;
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

// The matrix of a metric; its factor, and the coordinates that are made with it.
inline double matrix_bytes(std::int64_t d) {
    return 8 * static_cast<double>(d) * static_cast<double>(d);
}
inline double factor_bytes(std::int64_t rows, std::int64_t d) {
    return matrix_bytes(d) +
           8 * static_cast<double>(d) * (static_cast<double>(std::min(rows + 256, factored_rows(d))) + 1);
}

inline double scan_bytes(std::int64_t q, std::int64_t points, std::int64_t d, std::int64_t k, bool user) {
    return static_cast<double>(q) * static_cast<double>(points) * (user ? 16 : 8) +
           8.0 * static_cast<double>(d * (q + points)) + selection_bytes(q, k, points, 12);
}

// A survivor's place in its list and its candidate's, and where CUB sorts what that takes.
inline double entry_bytes(std::int64_t capacity) {
    return capacity > sort_in_shared ? 12 + 30 : 12;
}

// What lists take that grow to `capacity` from `base`, beyond what they took; while they are copied both exist.
inline double growth_bytes(std::int64_t base, std::int64_t capacity, std::int64_t queries) {
    if (capacity <= base) return 0;
    const double now = static_cast<double>(capacity), before = static_cast<double>(base);
    const double largest = std::max(entry_bytes(capacity) * now, 8 * (now + before));
    return static_cast<double>(queries) * std::max(0.0, largest - entry_bytes(base) * before);
}

// The capacity to which lists of `queries` may grow within `spare` bytes.
inline std::int64_t grown_capacity(std::int64_t base, std::int64_t queries, double spare) {
    const double most = std::min(spare, 4.0 * (1 << 30));
    for (std::int64_t capacity = most_survivors; capacity > base; capacity -= 64)
        if (growth_bytes(base, capacity, queries) <= most) return capacity;
    return base;
}

inline double filter_bytes(std::int64_t q, std::int64_t n, std::int64_t d, std::int64_t k) {
    const auto tile = [&](std::int64_t queries, std::int64_t capacity, std::int64_t dense) {
        // Survivors; values of the first sample; vectors, terms and flags of a query.
        return static_cast<double>(queries) *
               (entry_bytes(capacity) * static_cast<double>(capacity) +
                4.0 * static_cast<double>(dense) *
                    std::min(1.0, static_cast<double>(dense_queries) / static_cast<double>(queries)) +
                2.0 * static_cast<double>(filter_width(d, 1)) + 24);
    };
    // The last tile of a search may be smaller, and few queries take other levels.
    double most = std::max(tile(1, most_survivors, 0), scan_bytes(1, 64, d, k, false));
    for (const std::int64_t queries : {q, std::min(q, few_queries), std::min<std::int64_t>(q, 16)}) {
        const FilterLevels levels = filter_levels(n, queries, k + 1);
        most = std::max(most, tile(queries, levels.capacity, levels.sample[0] + filter_tile_points));
    }
    return most + (1 << 20);
}

// Queries that may be tried again at a time within so many bytes.
inline std::int64_t retry_step(double bytes) {
    return std::clamp<std::int64_t>(
        static_cast<std::int64_t>(bytes / (entry_bytes(most_survivors) * static_cast<double>(most_survivors))), 1,
        retry_queries);
}

// The canonical scan's tile within so many bytes.
struct RescanTile {
    std::int64_t queries = rescan_queries, points = rescan_points;
};
inline RescanTile rescan_tile(double bytes, std::int64_t d, std::int64_t k) {
    RescanTile tile;
    while (scan_bytes(tile.queries, tile.points, d, k, false) > bytes && (tile.queries > 1 || tile.points > 64)) {
        if (tile.points > 64) tile.points /= 2;
        else tile.queries /= 2;
    }
    return tile;
}

}  // namespace kith::gpu::tuning
