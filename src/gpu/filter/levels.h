// The thresholds of the fused filter: levels of samples. A first range of positions is a sample of
// the points; the values of all its pairs give each query a threshold. The candidates under it in
// the next, longer range give a lower threshold for the range after, and so on until all points
// have passed (Tang's hierarchical partition, with samples for parts). Plain numbers, for the
// planner and the run.
//
// A threshold is the r-th smallest upper value of a sample of m among n points. Of the k nearest,
// about k m / n are in the sample; r is so much larger that the threshold is practically never
// below the k-th: if it is, there is no certificate, and the query is retried. (Rows of select()
// are no permutation: sample_rank of primitives/sample.h.)
//
// The searches of docs/performance.md ran with these sizes: one NVIDIA H100 80GB HBM3, 2026-11-21,
// `kith-bench search
// --goals` (tuning.h); others have not been recorded. Orders by the hypergeometric variance:
// 2026-11-28, there.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace kith::gpu {

// Points come in tiles of this many, queries in blocks of that; arrays by position have room for
// whole tiles.
inline constexpr std::int64_t filter_tile_points = 256, filter_tile_queries = 128;
// Queries that share a list of tiles (FilterPass::tiles): those of both blocks of a cluster.
inline constexpr std::int64_t listed_queries = 2 * filter_tile_queries;
constexpr std::int64_t whole_tiles(std::int64_t n) {
    return (n + filter_tile_points - 1) / filter_tile_points * filter_tile_points;
}
constexpr std::int64_t whole_query_tiles(std::int64_t q) {
    return (q + filter_tile_queries - 1) / filter_tile_queries * filter_tile_queries;
}

// Of cells (cells.h) the leading directions, and their points, whole tiles: so few that a cell is
// near to few queries, so many that rows which are gathered for it cost little beside its products.
inline constexpr int cell_directions = 16;
inline constexpr std::int64_t least_cell_points = 4096, most_cells = 4096;
constexpr std::int64_t cell_points(std::int64_t n) {
    std::int64_t points = least_cell_points;
    while (points * most_cells < n) points *= 2;
    return points;
}

struct FilterLevels {
    int count = 1;  // of samples: 1 or 2
    std::array<std::int64_t, 2>
        sample{};  // positions [0, sample[i]), every value of the first is stored
    std::array<std::int64_t, 2> order{};  // of the order statistic that becomes the threshold
    std::int64_t capacity = 0;            // candidates per query
};

// The longest list that a block holds in its registers.
inline constexpr std::int64_t max_candidates = 16384;
// Up to so many queries are bound by reading the points, and each level by its launches and
// synchronisation.
inline constexpr std::int64_t few_queries = 256;

// Up to so many neighbours half of the first sample is enough: the few candidates more cost less
// than its values.
inline constexpr std::int64_t few_neighbours = 32;

// The order statistic of a sample of `sample` that the k-th of n exceeds with odds of a few in a
// million: how many of the k nearest a sample holds is hypergeometric, of so much less variance
// than Poisson's as the sample is of all.
inline std::int64_t sample_order(std::int64_t k, std::int64_t sample, std::int64_t n) {
    const double part = static_cast<double>(sample) / static_cast<double>(n),
                 share = static_cast<double>(k) * part;
    const double order = share + 4.5 * std::sqrt(share * (1 - part)) + 3.5 * (1 - part);
    return std::min(
        {static_cast<std::int64_t>(std::ceil(order)), std::max(k, std::int64_t{1}), sample});
}

// Room for the candidates under the order-th value of a sample among `ratio` times as many points,
// six deviations over their mean.
inline double candidate_room(std::int64_t order, double ratio) {
    const double r = static_cast<double>(order);
    return ratio * (r + 6 * std::sqrt(r) + 4);
}

// What a list needs for all n points when `kept` of the first `sample` are within the threshold.
inline std::int64_t needed_capacity(std::int64_t kept, std::int64_t sample, std::int64_t n) {
    const double r = static_cast<double>(kept);
    const double room =
        static_cast<double>(n) / static_cast<double>(sample) * (r + 5 * std::sqrt(r) + 3);
    return static_cast<std::int64_t>(std::min(room + 63, 1e15)) / 64 * 64;
}

// Levels for n points (a chunk) and q queries; `k` counts the query itself where it is among the
// points.
inline FilterLevels filter_levels(std::int64_t n, std::int64_t q, std::int64_t k) {
    FilterLevels levels;
    // Few queries: one large sample in place of two; for the very fewest, candidates cost less than
    // the sample.
    const std::int64_t many = (n <= std::int64_t{1} << 18 ? 2048 : 4096) /
                              (k <= few_neighbours ? 2 : 1),
                       dense = q <= 16            ? 4096
                               : q <= few_queries ? 16384
                                                  : many;
    levels.sample[0] = std::min(n, dense);
    // Among very many points one sample leaves more candidates than a list can hold.
    const double ratio = static_cast<double>(n) / static_cast<double>(dense);
    const bool too_many =
        candidate_room(sample_order(k, levels.sample[0], n), ratio) > max_candidates;
    if (n >= 16 * dense && (q > few_queries || too_many)) {
        levels.count = 2;
        const double middle = std::sqrt(static_cast<double>(n) * static_cast<double>(dense));
        levels.sample[1] =
            static_cast<std::int64_t>(middle / filter_tile_points) * filter_tile_points;
        levels.order[1] = sample_order(k, levels.sample[1], n);
        levels.order[0] = sample_order(levels.order[1], levels.sample[0], levels.sample[1]);
    } else {
        levels.order[0] = sample_order(k, levels.sample[0], n);
    }
    double room = 0;
    for (int i = 0; i < levels.count; ++i) {
        const std::int64_t next =
            i + 1 < levels.count ? levels.sample[static_cast<std::size_t>(i) + 1] : n;
        const auto at = static_cast<std::size_t>(i);
        room = std::max(
            room, candidate_room(levels.order[at], static_cast<double>(next) /
                                                       static_cast<double>(levels.sample[at])));
    }
    levels.capacity =
        std::min<std::int64_t>(static_cast<std::int64_t>(room + 63) / 64 * 64, max_candidates);
    return levels;
}

// Halves per row of the filter's vectors.
inline std::int64_t filter_width(std::int64_t d, int terms) {
    return (d + 15) / 16 * 16 * (terms == 1 ? 1 : 3);
}

// The relative error of a product of that width in matrix units. They align a step of K products
// and the accumulator to the largest of them, cut off what lies below, add, and cut the sum: (K +
// 2) / K 2^-23 per product, 1.5 for K = 4. The 8 are room for rounding the accumulator's initial
// value, and for exchanging it (candidates.cuh): another 5 x 2^-24 at most. Then what is of second
// order.
inline double filter_gamma(std::int64_t width) {
    const double gamma = 3.0 * static_cast<double>(width + 8) * 0x1p-24;
    return gamma * (1 + 4 * gamma);
}

}  // namespace kith::gpu
