// Tuning constants of the fused filter. Plain host code: the planner and the run share them.
//
// The searches of lab/*-fused-filter ran with these: one NVIDIA H100 80GB HBM3, 2026-11-21,
// `kith-bench search --goals` (Gaussian f32, n 2^20, q 1 to 8,192, d 16 to 768, k 10 to 1,000;
// graphs of 2^17 and 2^20 points). Constants that were measured elsewhere say so. Tile sizes and
// the levels of samples are in levels.h.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kith/plan.h"
#include "metric/metric.h"

namespace kith::gpu::tuning {

// Paths with a filter of products in matrix units, of fp16 in the last step.
constexpr bool takes_products(Path path) {
    return path == Path::gemm_f16 || path == Path::gemm_i8 || path == Path::projected ||
           path == Path::clustered;
}

// Queries per tile of the fused filter: enough to fill the device with blocks of 128 and to make
// the levels of samples cheap. More queries only make lists larger.
inline constexpr std::int64_t filter_query_tile = 1 << 16;
// Queries with values of the first sample in memory at a time: few enough for L2.
inline constexpr std::int64_t dense_queries = 4096;
// Vectors of at most this many coordinates get bias columns. On an NVIDIA H100, 2026-11-24, passes
// of 8,192 queries over 1,048,576 points, about 200 candidates per query, without and with bias
// columns, G/s: 16 coordinates 4,864 and 6,893 (17 candidates), 32 3,600 and 4,403, 64 3,024 and
// 3,760, 96 2,314 and 2,846, 128 2,043 and 2,459, 192 1,600 and 1,698, 256 1,238 and 1,190.
// Searches need at least augmented_pairs pairs: below, two additional launches cost what the sums
// save (reasoned).
inline constexpr std::int64_t augmented_width = 192;
inline constexpr double augmented_pairs = 0x1p27;
// The least points and dimensions of a graph with tiles that serve both of their sides. That halves
// the products but adds comparisons: 131,072 x 128 at k 10 took 14.5 ms, and 13.9 ms with tiles
// that serve their rows only.
inline constexpr std::int64_t symmetric_points = 1 << 18, symmetric_dimensions = 48;
// The upper limits: all queries run at once, so a large search would report no progress for
// seconds. More than two K-tiles of 64 dimensions have not been timed.
inline constexpr std::int64_t symmetric_most_points = 3 << 19, symmetric_most_dimensions = 128;
// The cost of a coordinate in f32 and with special functions; products in matrix units cost 1. On
// an NVIDIA H200, 2026-11-22, `kith-bench search --goals`, d 128, k 10: products 1,886 G/s (n
// 1,048,576, q 8,192). n 131,072, q 4,096: cityblock 90.5, minkowski of p 3 59.8, braycurtis 46.7,
// 21 to 40 times as much; canberra 28.5, jensenshannon 16.0, minkowski of p 2.5 15.2, 66 to 124.
// Only tile sizes depend on it; other sizes have not been timed.
inline double direct_cost(metric::Direct form) {
    const bool special = form == metric::Direct::powers || form == metric::Direct::quotients ||
                         form == metric::Direct::divergence;
    return special ? 150 : 25;
}
// Queries that take about half a second at most, so that a search can report progress and be
// cancelled between tiles.
inline std::int64_t responsive_queries(std::int64_t n, std::int64_t d, double cost) {
    const double pairs = 0x1p40 * 128 / static_cast<double>(std::max<std::int64_t>(d, 128)) / cost;
    return std::max<std::int64_t>(cost > 1 ? 128 : 1024,
                                  static_cast<std::int64_t>(pairs / static_cast<double>(n)));
}
// Above this share of the points the full scan is cheaper than filtering. With more neighbours the
// candidate lists exceed what a block holds.
inline constexpr double filter_max_share = 0.05;
inline constexpr std::int64_t filter_max_k = 8192;
// Beyond, the bound on accumulated rounding is useless.
inline constexpr std::int64_t filter_max_dimensions = 65536;
// With at most this many dimensions the metric itself costs about as much as products do. Its
// relative error separates near points that products do not. On an NVIDIA H200, 2026-11-22,
// `kith-bench search --ordinary` (Gaussian, n 1,048,576, q 1,024, k 10), G/s by products and by the
// metric itself: d 1 160 and 1,483, d 2 1,629 and 1,319, d 3 2,205 and 1,178, d 4 2,319 and 1,113,
// d 5 2,214 and 981. d 6 to 8 have not been timed.
inline constexpr std::int64_t direct_dimensions = 8;
// The least number of duplicate rows (repeats) that is worth leaving out. Reasoned, not timed: the
// lists of a retry (max_candidates, 16,384) have room for fewer, along with other near rows.
inline constexpr std::int64_t many_repeats = 256;
// Unit vectors are filtered by squared distances, and products by those of centred points, if the
// typical centred vector is at most this share of the original one. The bound of squared distances
// grows with the square of the centred length, that of products with the length.
inline constexpr double centred_share = 0.9;
// Products are centred on both sides if typical points are at most this many times as long as the
// centred ones. Queries unlike the points are longer than the centred points by that factor.
// Beyond, and in two terms, only points are centred.
inline constexpr double most_shifted_share = 64;
// Points of at most this many coordinates are rounded by eight lanes each, longer ones by a warp
// (is_plain). On an NVIDIA H100, 2026-11-28, 1,048,576 rows of f32, ms by 8, 16 and 32 lanes: d 16
// 0.18, 0.31 and 0.61, d 100 0.52, 0.62 and 1.14, d 128 0.54, 0.62 and 0.78. Unit vectors are read
// twice: d 16 0.60, 0.62 and 0.75, d 100 1.24, 1.07 and 1.31, d 128 1.27, 0.93 and 0.86.
inline constexpr std::int64_t few_coordinates = 128, few_unit_coordinates = 100;
// Beyond, the product with a factor (metric::Traits::factored) is no longer small compared with the
// search.
inline constexpr std::int64_t factored_max_dimensions = 4096;
// Rows per product with a factor: 8 MiB of coordinates, in whole blocks, and at least a whole
// sample.
inline std::int64_t factored_rows(std::int64_t d) {
    return std::max<std::int64_t>(256, (std::int64_t{1} << 20) / d / 256 * 256);
}

// The most columns of a projection in fp16. More columns in int8 take no more room.
inline constexpr std::int64_t most_directions = 255;
// The most halves of rows that are projected: a query's row is in shared memory.
inline constexpr std::int64_t most_projected_width = 24 * 1024;
// Rows per product with a projection's matrix, for rows of `depth` halves: the bytes of coordinates
// and digits (primitives/product_digits.h), at most.
inline constexpr std::int64_t projected_bytes = std::int64_t{1} << 26;
inline std::int64_t projected_rows(std::int64_t depth, std::int64_t stride) {
    return std::max<std::int64_t>(256, projected_bytes / (8 * stride + 3 * depth) / 256 * 256);
}

}  // namespace kith::gpu::tuning
