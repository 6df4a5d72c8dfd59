// Tuning numbers of the fused filter. Plain host code: the planner and the run share them.
//
// The searches of docs/performance.md ran with these: one NVIDIA H100 80GB HBM3, 2026-11-21,
// `kith-bench search
// --goals` (Gaussian f32, n 2^20, q 1 to 8,192, d 16 to 768, k 10 to 1,000; graphs of 2^17 and 2^20
// points). Where others were timed, a number says so. Tile sizes and the levels of samples are in
// levels.h.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kith/plan.h"
#include "metric/metric.h"

namespace kith::gpu::tuning {

// Paths whose filter is products in matrix units, of fp16 in the end.
constexpr bool takes_products(Path path) {
    return path == Path::gemm_f16 || path == Path::gemm_i8 || path == Path::projected ||
           path == Path::clustered;
}

// Queries per tile of the fused filter: enough to fill the device with blocks of 128 and to make
// the levels of samples cheap; more only makes lists larger.
inline constexpr std::int64_t filter_query_tile = 1 << 16;
// Queries whose values with the first sample are in memory at a time: few enough for L2.
inline constexpr std::int64_t dense_queries = 4096;
// Vectors up to so many coordinates are augmented. On an NVIDIA H100, 2026-11-24, passes of 8,192
// queries over 1,048,576 points alone, some 200 candidates a query, plain and augmented, G/s: of 16
// coordinates 4,864 and 6,893 (17 candidates), 32 3,600 and 4,403, 64 3,024 and 3,760, 96 2,314 and
// 2,846, 128 2,043 and 2,459, 192 1,600 and 1,698, 256 1,238 and 1,190. In searches of so many
// pairs: of fewer, two launches more cost what the sums save (reasoned).
inline constexpr std::int64_t augmented_width = 192;
inline constexpr double augmented_pairs = 0x1p27;
// Points and dimensions from which a graph's tiles serve both of their sides: half of the products,
// but more to compare: of 131,072 x 128 at k 10 14.5 ms against 13.9 for tiles that serve their
// rows alone.
inline constexpr std::int64_t symmetric_points = 1 << 18, symmetric_dimensions = 48;
// And up to which: all queries go at once, so not so many that a search reports nothing for
// seconds; more than two K-tiles of 64 dimensions have not been timed.
inline constexpr std::int64_t symmetric_most_points = 3 << 19, symmetric_most_dimensions = 128;
// What a coordinate costs, products in matrix units being 1: in f32, and with special functions. On
// an NVIDIA H200, 2026-11-22, `kith-bench search --goals`, d 128, k 10: products 1,886 G/s (n
// 1,048,576, q 8,192); n 131,072, q 4,096: cityblock 90.5, minkowski of p 3 59.8, braycurtis 46.7,
// 21 to 40 times as much; canberra 28.5, jensenshannon 16.0, minkowski of p 2.5 15.2, 66 to 124.
// Only sizes of tiles follow from it; other sizes have not been timed.
inline double direct_cost(metric::Direct form) {
    const bool special = form == metric::Direct::powers || form == metric::Direct::quotients ||
                         form == metric::Direct::divergence;
    return special ? 150 : 25;
}
// Queries that take about half a second at most, so that progress can be reported and a search
// cancelled between tiles.
inline std::int64_t responsive_queries(std::int64_t n, std::int64_t d, double cost) {
    const double pairs = 0x1p40 * 128 / static_cast<double>(std::max<std::int64_t>(d, 128)) / cost;
    return std::max<std::int64_t>(cost > 1 ? 128 : 1024,
                                  static_cast<std::int64_t>(pairs / static_cast<double>(n)));
}
// Above this share of the points the full scan is cheaper than filtering; with more neighbours
// candidate lists exceed what a block holds.
inline constexpr double filter_max_share = 0.05;
inline constexpr std::int64_t filter_max_k = 8192;
// Beyond, the filter's bound on accumulated roundings says nothing.
inline constexpr std::int64_t filter_max_dimensions = 65536;
// Up to so many dimensions the metric itself costs about what products do, and its error, which is
// relative, tells near points apart that products do not. On an NVIDIA H200, 2026-11-22,
// `kith-bench search --ordinary` (Gaussian, n 1,048,576, q 1,024, k 10), G/s by products and by the
// metric itself: d 1 160 and 1,483, d 2 1,629 and 1,319, d 3 2,205 and 1,178, d 4 2,319 and 1,113,
// d 5 2,214 and 981. d 6 to 8 have not been timed.
inline constexpr std::int64_t direct_dimensions = 8;
// So many rows that equal one are worth leaving out. Reasoned, not timed: fewer have room in the
// lists of a retry (max_candidates, 16,384) beside what else is near.
inline constexpr std::int64_t many_repeats = 256;
// Unit vectors are filtered by their squared distances, and products by those of points less their
// mean, where what is left of the typical vector is so much of it or less: the bound of squared
// distances grows with the squares of what is left, that of products with its length.
inline constexpr double centred_share = 0.9;
// Products are shifted on both sides where typical points are so many times as long as what is
// left, or less: queries that are unlike the points are that much longer than what they are
// compared with. Beyond, and in two terms, points alone are.
inline constexpr double most_shifted_share = 64;
// Points of up to so many coordinates are rounded by eight lanes each, longer ones by a warp
// (is_plain). On an NVIDIA H100, 2026-11-28, 1,048,576 rows of f32, ms by 8, 16 and 32 lanes: d 16
// 0.18, 0.31 and 0.61, d 100 0.52, 0.62 and 1.14, d 128 0.54, 0.62 and 0.78; of unit vectors, which
// are read twice, 0.60, 0.62 and 0.75, 1.24, 1.07 and 1.31, 1.27, 0.93 and 0.86.
inline constexpr std::int64_t few_coordinates = 128, few_unit_coordinates = 100;
// Beyond, multiplying by a factor (metric::Traits::factored) is no longer small beside the search.
inline constexpr std::int64_t factored_max_dimensions = 4096;
// Rows that are multiplied by a factor at a time: 8 MiB of coordinates, whole blocks, at least all
// of a sample.
inline std::int64_t factored_rows(std::int64_t d) {
    return std::max<std::int64_t>(256, (std::int64_t{1} << 20) / d / 256 * 256);
}

// The most columns of a projection in fp16; more of them in numbers of 8 bits take no more room.
inline constexpr std::int64_t most_directions = 255;
// Halves of rows that are projected, at most: a query's are in shared memory.
inline constexpr std::int64_t most_projected_width = 24 * 1024;
// Rows of so many halves that are multiplied by a projection's matrix at a time: what their
// coordinates and digits (primitives/product_digits.h) take, at most.
inline constexpr std::int64_t projected_bytes = std::int64_t{1} << 26;
inline std::int64_t projected_rows(std::int64_t depth, std::int64_t stride) {
    return std::max<std::int64_t>(256, projected_bytes / (8 * stride + 3 * depth) / 256 * 256);
}

}  // namespace kith::gpu::tuning
