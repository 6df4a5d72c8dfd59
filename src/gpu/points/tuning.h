// Tuning constants of prepared points. Plain host code.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "gpu/filter/levels.h"
#include "gpu/filter/pca/further.h"
#include "gpu/filter/tuning.h"

namespace kith::gpu::tuning {

// Rows of the sample that finds categorical coordinates.
inline constexpr std::int64_t value_samples = 256;
// The most values per coordinate that have a bit each: then a coordinate takes one word, as in f32,
// which is the room that a plan has. On an NVIDIA H200, 2026-11-22, n 131,072, q 4,096, d 128, k
// 10, u8, points prepared, G/s: 2 values 644, 4 640, 8 608, 16 493, 32 364; compared byte by byte
// 130. Preparing points takes 0.33, 0.36, 0.47, 0.72 and 1.18 ms, as bytes 0.21. One query takes
// 0.11 ms with 4 values and 0.20 with 32.
inline constexpr int most_values = 32;
// Rows may have other values, but each of them adds candidates that differ in one more coordinate.
// The limits: the mean number per row of d coordinates, and the rows with more than four times
// that. Reasoned, not timed: two of 128 coordinates at most double the candidates. Fewer
// coordinates get the same fraction, more coordinates the same number of standard deviations of the
// distances. Rows beyond the limit may be candidates of every query.
inline double most_other_values(std::int64_t d) {
    const auto coordinates = static_cast<double>(d);
    return std::min(coordinates / 64, 0.18 * std::sqrt(coordinates));
}
inline constexpr double loose_row = 4;  // times that
inline constexpr std::int64_t most_loose_rows = 64;

// ---- PCA projection of the points, and int8 vectors (projection.h)

// If fp16 vectors of all points do not fit the device (listed_vectors.h): the first positions that
// have them nevertheless, and the rows that are made at a time. These are 65,536 rows of 128
// coordinates, 17 MB, which a GPU reads from host memory in a fraction of a millisecond. Reasoned,
// not timed.
inline constexpr std::int64_t listed_sample = 1 << 15, most_listed_dimensions = 4096;
inline std::int64_t listed_rows(std::int64_t width) {
    constexpr std::int64_t halves = 1 << 23;
    return std::max(listed_sample, halves / width / filter_tile_points * filter_tile_points);
}

// Paths that may use a projection or int8 before fp16; `clustered` does if a sample finds no
// clusters.
constexpr bool may_project(Path path) {
    return path == Path::gemm_i8 || path == Path::projected || path == Path::clustered;
}

// Picoseconds per pair of `width` halves in the fused filter, k 10. On an NVIDIA H100 (goals.txt):
// 64 halves 0.37, 128 0.52, 256 0.83 and 768 2.3.
inline double pair_cost(std::int64_t width) {
    return 0.14 + 0.0029 * static_cast<double>(width);
}
// Likewise for vectors with bias columns (filter/tuning.h): 64, 96, 128 and 192 halves take 0.27,
// 0.35, 0.41 and 0.59 in passes alone.
inline double filter_pair_cost(std::int64_t width) {
    return width <= augmented_width ? 0.11 + 0.0024 * static_cast<double>(width) : pair_cost(width);
}
// Likewise for int8 vectors. In passes alone 256 values take 0.36, 512 0.75, 768 1.19 and 1,536
// 2.19. 64 and 128 values take 0.24 both; searches less their samples take 0.20 and 0.25. The
// values 0.21 and 0.28 separate deviations i^-0.7 from Gaussian data (spectra.txt). fp16 serves the
// former better at 64, and at 128 for 100 neighbours.
inline double byte_pair_cost(std::int64_t numbers) {
    constexpr std::array<double, 5> at = {64, 128, 256, 512, 768},
                                    cost = {0.21, 0.28, 0.36, 0.75, 1.19};
    std::size_t i = 1;
    while (i + 1 < at.size() && static_cast<double>(numbers) > at[i]) ++i;
    const double slope = (cost[i] - cost[i - 1]) / (at[i] - at[i - 1]);
    return cost[i - 1] + slope * (static_cast<double>(numbers) - at[i - 1]);
}
// Picoseconds to rescore a candidate from a row of `width` halves, anywhere in memory: reasoned
// from 2.2 TB/s, the rate of the searches of search/tuning.h.
inline double reread_cost(std::int64_t width) {
    return 100 + 0.9 * static_cast<double>(width);
}
// Picoseconds for a candidate's row of a residual stage; and to append a candidate in a projected
// pass, where other warps wait for the one that appends. On an NVIDIA H100, 2026-11-26, deviations
// i^-0.7 of 768 dimensions in int8, k 10 and 100: 7.5 and 11.8 ms with 223 columns, 7.3 and 11.1
// with 351.
inline constexpr double further_cost(std::int64_t columns) {
    return 100 + 0.45 * static_cast<double>(FurtherColumns::row_bytes(columns));
}
inline constexpr double append_cost = 270;
// Numbers of columns to try for passes. With the remainder, and in int8 with the extra columns of
// leading directions, vectors are whole K-tiles.
inline constexpr std::array pass_columns = {63, 127, 191, 255};
inline constexpr std::array byte_pass_columns = {63, 95, 223, 351};
// The most columns of each residual stage. Rows of 128 bytes exclude most candidates. The next
// stage, rows of at most 256 bytes, is nearly as tight as full-dimensional rows, with an eighth of
// the bytes or less.
inline constexpr std::array<int, most_stages> stage_columns = {224, 480};
inline constexpr int columns_with_stages(int columns, int stages, std::int64_t width) {
    for (int stage = 0; stage < stages; ++stage)
        columns += stage_columns[static_cast<std::size_t>(stage)];
    return static_cast<int>(std::min<std::int64_t>(columns, width));
}
// The typical error of an int8 projection, relative to the root of the product of two sums of
// variances: of all components, and of those beyond the leading ones. Holds for deviations i^-0.7
// and for rotated images, with steps such that 127 are about 4 deviations.
inline constexpr double direction_slack = 0.0225;
// The largest orthonormality error of a stage's columns, as the sum of squares; columns that are
// not rounding errors are within it.
inline constexpr double largest_defect2 = 1e-12;
// Bytes of a point's rows of all stages, at most.
inline double further_bytes(std::int64_t width) {
    double bytes = 0;
    for (int stage = 1; stage <= most_stages; ++stage)
        bytes += static_cast<double>(
            FurtherColumns::row_bytes(columns_with_stages(pass_columns.front(), stage, width) -
                                      columns_with_stages(pass_columns.front(), stage - 1, width)));
    return bytes;
}
// Likewise for a query.
inline double further_query_bytes(std::int64_t width) {
    double bytes = 0;
    for (int stage = 1; stage <= most_stages; ++stage) {
        const FurtherColumns columns{
            .count = columns_with_stages(pass_columns.front(), stage, width) -
                     columns_with_stages(pass_columns.front(), stage - 1, width)};
        bytes += static_cast<double>(columns.query_bytes());
    }
    return bytes;
}
// Temporary bytes: a projection's matrix, the columns that it is made of, and their Gram matrix.
inline double kept_bytes(std::int64_t width) {
    return 40.0 * static_cast<double>(width) *
           columns_with_stages(byte_pass_columns.back(), most_stages, width);
}
// A projection or int8 is used if its filtering takes less than this fraction of the
// full-dimensional time.
inline constexpr double largest_projected_share = 0.8, largest_byte_share = 0.9;
// The number of neighbours for which the sample counts candidates. Thresholds follow from samples
// and are looser than k suggests, more so with more ranges.
inline double expected_neighbours(std::int64_t n) {
    return n < std::int64_t{1} << 20 ? 64 : 128;
}

// int8 leaves 0.0095 of rows with coordinates of one size, as a ratio of norms. Rows of at most
// most_turned_width coordinates that leave more than uneven_kappa are rotated, if that leaves less
// than turned_share as much. Products with the rotation take 1.4 ms of 1,048,576 x 128. Reasoned.
inline constexpr double uneven_kappa = 0.0125, turned_share = 0.8;
inline constexpr std::int64_t most_turned_width = 512;
// One point in one_beyond may have a half norm beyond the reach of the bias columns, which makes it
// a candidate more often. Reasoned: with deviations i^-0.7 in 1,536 dimensions, one point in 3,000
// has. These points are far longer than most queries.
inline constexpr std::int64_t one_beyond = 1 << 11;

// ---- cells of the points (half-space partition, cells.h)

// cell_sample(): positions before the cells, in whole tiles. They serve as samples of searches,
// including those of few queries (filter_levels). least_celled: points with some dozens of cells; a
// forced path needs least_cells.
//
// most_celled_share: the largest fraction of a sample's cells that a query is compared with. On an
// NVIDIA H100, 2026-11-27, k 10 and 100. Images: 0.21 (0.36 and 0.41 of the points' own cells,
// which are larger), 6.2 and 11.4 ms, without cells 8.6 and 12.4. Deviations i^-0.7, 768
// dimensions: 0.49, 6.2 and 10.7 to 10.9, without cells 6.8 and 10.5, and preparing takes 10 ms
// more. 1,536 dimensions: between 0.5 and 0.6, 9.1 and 21.7, without cells 9.6 and 18.2. There,
// near points are no nearer than the rest, and their long rows are read with the samples'
// thresholds.
inline constexpr std::int64_t least_celled = 1 << 18, least_cells = 16;
inline std::int64_t cell_sample(std::int64_t n) {
    constexpr std::int64_t tile = filter_tile_points;
    const auto middle = static_cast<std::int64_t>(std::sqrt(4096.0 * static_cast<double>(n)));
    return std::max(
        {std::int64_t{1} << 14, (middle + tile - 1) / tile * tile, n / 24 / tile * tile});
}
inline constexpr std::int64_t cell_pilot_points = 1 << 14;  // of the trial
inline constexpr double most_celled_share = 0.4;

// ---- clusters of the points (ball-cover partition, clusters.h)

// Centres, relative to the root of the number of points. A sample of 4,096 rows misses 17 of 1,000
// clusters of 1,048,576 points.
inline constexpr double cluster_centres = 4;
inline constexpr std::int64_t most_centres = 8192;
inline std::int64_t centres_of(std::int64_t n) {
    const auto centres =
        static_cast<std::int64_t>(cluster_centres * std::sqrt(static_cast<double>(n)));
    return std::clamp(centres / filter_tile_points * filter_tile_points, filter_tile_points,
                      most_centres);
}
// The largest fraction of the points that a query may be compared with if clusters are made.
// Reasoned: tiles of 128 queries in clusters of their own are compared with many times as much.
inline constexpr double most_active_share = 1.0 / 32;
// near_centres: rows nearer to each other than that many typical distances from the nearest centre
// are one centre. That requires least_alone, the fraction of queries with candidates in one cluster
// alone, and least_clusters clusters of the largest size. Reasoned: points of a Gaussian cluster in
// many dimensions have nearly equal distances from each other, within a few percent.
inline constexpr double near_centres = 2, least_alone = 0.75;
inline constexpr std::int64_t least_clusters = 32;
// The most points of a cluster that a query is compared with directly, given the candidates that
// the filter would leave of it. A candidate takes as long as some pairs, samples and passes as long
// as thousands. On an NVIDIA H100, 2026-11-26, n 1,048,576, q 8,192, k 10, directly and filtered,
// ms: 100 clusters of deviation 0.3, d 128 5.1 and 2.6 (16 candidates), 40 of 0.1 10.5 and 5.2
// (307), 40 of 0.001 10.6 and 146 (all); 60 of 0.05, d 32 4.4 and 7.8 (2,679).
inline double most_compared(double candidates) {
    return 4096 + 6 * candidates;
}

}  // namespace kith::gpu::tuning
