// Tuning numbers of prepared points. Plain host code.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "gpu/filter/further.h"
#include "gpu/filter/levels.h"
#include "gpu/filter/tuning.h"

namespace kith::gpu::tuning {

// Rows of the sample that says which values coordinates take.
inline constexpr std::int64_t value_samples = 256;
// Values per coordinate that are told apart by a bit each, at most: then a coordinate is a word, as
// it is in f32, which is what the plan has room for. On an NVIDIA H200, 2026-11-22, n 131,072, q
// 4,096, d 128, k 10, u8, points prepared, G/s: 2 values 644, 4 640, 8 608, 16 493, 32 364;
// compared byte by byte 130. Preparing points takes 0.33, 0.36, 0.47, 0.72 and 1.18 ms, as bytes
// 0.21; one query takes 0.11 ms with 4 values and 0.20 with 32.
inline constexpr int most_values = 32;
// Rows may have other values, too, but each lets a pair pass that differs in one coordinate more:
// so many of them in the mean row of d coordinates, and so few rows with more than four times that.
// Reasoned, not timed: two of 128, where one more that differs doubles the candidates or less; as
// large a share of fewer coordinates, and as many deviations of the distances of more. Rows beyond
// may be candidates of every query.
inline double most_other_values(std::int64_t d) {
    const auto coordinates = static_cast<double>(d);
    return std::min(coordinates / 64, 0.18 * std::sqrt(coordinates));
}
inline constexpr double loose_row = 4;  // times that
inline constexpr std::int64_t most_loose_rows = 64;

// ---- directions of the points, and numbers of 8 bits (projection.h)

// Where fp16 vectors of all points have no room (listed_vectors.h): the first positions that have
// them all the same, and how many rows of so many halves are made at a time: 65,536 of 128
// coordinates, 17 MB, whose elements a GPU reads from host memory in a fraction of a millisecond.
// Reasoned, not timed.
inline constexpr std::int64_t listed_sample = 1 << 15, most_listed_dimensions = 4096;
inline std::int64_t listed_rows(std::int64_t width) {
    constexpr std::int64_t halves = 1 << 23;
    return std::max(listed_sample, halves / width / filter_tile_points * filter_tile_points);
}

// Paths that may look at these before fp16; in clusters, where a sample has none.
constexpr bool may_project(Path path) {
    return path == Path::gemm_i8 || path == Path::projected || path == Path::clustered;
}

// What a pair of so many halves takes in the fused filter, in picoseconds, k 10: on an NVIDIA H100
// (goals.txt) 64 take 0.37, 128 0.52, 256 0.83 and 768 2.3.
inline double pair_cost(std::int64_t width) {
    return 0.14 + 0.0029 * static_cast<double>(width);
}
// The same where vectors are augmented (filter/tuning.h): a pair of 64, 96, 128 and 192 halves
// takes 0.27, 0.35, 0.41 and 0.59 in passes alone.
inline double filter_pair_cost(std::int64_t width) {
    return width <= augmented_width ? 0.11 + 0.0024 * static_cast<double>(width) : pair_cost(width);
}
// Of numbers of 8 bits: in passes alone 256 take 0.36, 512 0.75, 768 1.19 and 1,536 2.19. Of 64 and
// 128, 0.24 both, searches less their samples take 0.20 and 0.25; 0.21 and 0.28 tell deviations
// i^-0.7, which fp16 serves better at 64 and of 128 for 100 neighbours, from Gaussian data
// (spectra.txt).
inline double byte_pair_cost(std::int64_t numbers) {
    constexpr std::array<double, 5> at = {64, 128, 256, 512, 768},
                                    cost = {0.21, 0.28, 0.36, 0.75, 1.19};
    std::size_t i = 1;
    while (i + 1 < at.size() && static_cast<double>(numbers) > at[i]) ++i;
    const double slope = (cost[i] - cost[i - 1]) / (at[i] - at[i - 1]);
    return cost[i - 1] + slope * (static_cast<double>(numbers) - at[i - 1]);
}
// And a candidate whose row of so many halves is read, from anywhere: reasoned from 2.2 TB/s, which
// the searches of search/tuning.h read at.
inline double reread_cost(std::int64_t width) {
    return 100 + 0.9 * static_cast<double>(width);
}
// The same whose row of a stage is read; and what appending it takes of a pass along directions,
// whose warps wait for the one that appends. On an NVIDIA H100, 2026-11-26, deviations i^-0.7 of
// 768 dimensions in 8 bits, k 10 and 100: 7.5 and 11.8 ms with 223 columns, 7.3 and 11.1 with 351.
inline constexpr double further_cost(std::int64_t columns) {
    return 100 + 0.45 * static_cast<double>(FurtherColumns::row_bytes(columns));
}
inline constexpr double append_cost = 270;
// Columns that are tried: of passes, whose vectors are whole K-tiles with the remainder, in 8 bits
// with what leading directions have as well; and with those of stages.
inline constexpr std::array pass_columns = {63, 127, 191, 255};
inline constexpr std::array byte_pass_columns = {63, 95, 223, 351};
// Columns of each stage, at most: rows of 128 bytes leave out most of what passes, behind which
// those of up to 256 say nearly what rows of all coordinates would, in an eighth of the bytes or
// less.
inline constexpr std::array<int, most_stages> stage_columns = {224, 480};
inline constexpr int columns_with_stages(int columns, int stages, std::int64_t width) {
    for (int stage = 0; stage < stages; ++stage)
        columns += stage_columns[static_cast<std::size_t>(stage)];
    return static_cast<int>(std::min<std::int64_t>(columns, width));
}
// Directions in numbers of 8 bits leave about so much of the root of the products of two sums of
// variances: of all of them, and of those beyond the leading ones. Of deviations i^-0.7 and of
// images, turned, steps are such that 127 are some 4 deviations.
inline constexpr double direction_slack = 0.0225;
// Stages' columns are orthonormal but for so much, as the sum of squares; those that are more than
// rounding are.
inline constexpr double largest_defect2 = 1e-12;
// What rows of all stages that it may have take.
inline double further_bytes(std::int64_t width) {
    double bytes = 0;
    for (int stage = 1; stage <= most_stages; ++stage)
        bytes += static_cast<double>(
            FurtherColumns::row_bytes(columns_with_stages(pass_columns.front(), stage, width) -
                                      columns_with_stages(pass_columns.front(), stage - 1, width)));
    return bytes;
}
// Of queries.
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
// And for a while a projection's matrix, what it is made of and the squares of its columns.
inline double kept_bytes(std::int64_t width) {
    return 40.0 * static_cast<double>(width) *
           columns_with_stages(byte_pass_columns.back(), most_stages, width);
}
// Directions, or numbers of 8 bits, are used if filtering takes less than this share of what all
// coordinates take.
inline constexpr double largest_projected_share = 0.8, largest_byte_share = 0.9;
// Neighbours of n points for which the sample is asked what passes: thresholds follow from samples,
// and are looser than k says, the more so of the more ranges.
inline double expected_neighbours(std::int64_t n) {
    return n < std::int64_t{1} << 20 ? 64 : 128;
}

// Numbers of 8 bits leave 0.0095 of coordinates of one size and as many of the rows' norms. Rows of
// up to so many that leave more are turned, if that leaves so much less: products with the rotation
// take 1.4 ms of 1,048,576 x 128. Reasoned.
inline constexpr double uneven_kappa = 0.0125, turned_share = 0.8;
inline constexpr std::int64_t most_turned_width = 512;
// One point in so many may have a half norm beyond what terms hold, and pass more often. Reasoned:
// those of deviations i^-0.7 in 1,536 dimensions, of which one in 3,000 has, are far longer than
// most queries.
inline constexpr std::int64_t one_beyond = 1 << 11;

// ---- cells of the points (cells.h)

// Positions before the cells, whole tiles: samples of searches, of few queries too (filter_levels).
// Points from which there are some dozens of cells; of a path that is forced, so many cells are
// enough. The share of a sample's cells that a query may have to be compared with: on an NVIDIA
// H100, 2026-11-27, k 10 and 100, of images, 0.21 (0.36 and 0.41 of the points' own cells, which
// are larger), 6.2 and 11.4 ms in place of 8.6 and 12.4; of deviations i^-0.7, 768 dimensions,
// 0.49, 6.2 and 10.7 to 10.9 in place of 6.8 and 10.5, preparing 10 ms more; 1,536, between 0.5 and
// 0.6, 9.1 and 21.7 in place of 9.6 and 18.2: what is near is no nearer than the rest, and its long
// rows are read with the samples' thresholds.
inline constexpr std::int64_t least_celled = 1 << 18, least_cells = 16;
inline std::int64_t cell_sample(std::int64_t n) {
    constexpr std::int64_t tile = filter_tile_points;
    const auto middle = static_cast<std::int64_t>(std::sqrt(4096.0 * static_cast<double>(n)));
    return std::max(
        {std::int64_t{1} << 14, (middle + tile - 1) / tile * tile, n / 24 / tile * tile});
}
inline constexpr std::int64_t cell_pilot_points = 1 << 14;  // of the trial
inline constexpr double most_celled_share = 0.4;

// ---- clusters of the points (clusters.h)

// So many centres for each of the root of the points: of 1,000 clusters of 1,048,576 points 4,096
// rows miss 17.
inline constexpr double cluster_centres = 4;
inline constexpr std::int64_t most_centres = 8192;
inline std::int64_t centres_of(std::int64_t n) {
    const auto centres =
        static_cast<std::int64_t>(cluster_centres * std::sqrt(static_cast<double>(n)));
    return std::clamp(centres / filter_tile_points * filter_tile_points, filter_tile_points,
                      most_centres);
}
// Clusters are made where a query must be compared with no more than this share of the points.
// Reasoned: tiles of 128 queries of clusters of their own meet many times as much.
inline constexpr double most_active_share = 1.0 / 32;
// Rows that lie nearer to each other than so many times the typical distance of a row from the
// nearest centre are one centre, if then so many queries have candidates in one cluster alone, and
// there are so many clusters of the largest size. Reasoned: points of a Gaussian cluster of many
// dimensions are as far from each other, within a few percent.
inline constexpr double near_centres = 2, least_alone = 0.75;
inline constexpr std::int64_t least_clusters = 32;
// Points of a cluster that a query is compared with at once, where the filter would leave so many
// candidates of it: one takes as long as some pairs, and samples and passes as long as thousands.
// On an NVIDIA H100, 2026-11-26, n 1,048,576, q 8,192, k 10, at once and filtered, ms: 100 clusters
// of deviation 0.3, d 128 5.1 and 2.6 (16 candidates), 40 of 0.1 10.5 and 5.2 (307), 40 of
// 0.001 10.6 and 146 (all); 60 of 0.05, d 32 4.4 and 7.8 (2,679).
inline double most_compared(double candidates) {
    return 4096 + 6 * candidates;
}

}  // namespace kith::gpu::tuning
