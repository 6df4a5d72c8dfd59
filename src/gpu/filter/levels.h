// How the fused filter comes to its limits: levels of samples. A first run of positions is a sample of the points; the
// values of all its pairs give each query a limit, the next, longer run leaves survivors under that limit, these give a
// lower limit for the run after it, and so on until all points have passed (Tang's hierarchical partition, with samples
// for parts). Plain numbers, for the planner and the run.
//
// A limit is the r-th smallest upper value of a sample of m among n points. Of the k nearest, about k m / n are in the
// sample; r is so much larger that the limit is practically never below the k-th: if it is, the certificate fails, and
// the query goes again.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace kith::gpu {

// Points come in tiles of this many, queries in blocks of that; arrays by position have room for whole tiles.
inline constexpr std::int64_t filter_tile_points = 256, filter_tile_queries = 128;
constexpr std::int64_t whole_tiles(std::int64_t n) {
    return (n + filter_tile_points - 1) / filter_tile_points * filter_tile_points;
}

struct FilterLevels {
    int count = 1;                         // of samples: 1 or 2
    std::array<std::int64_t, 2> sample{};  // positions [0, sample[i]), the first one read densely
    std::array<std::int64_t, 2> rank{};
    std::int64_t capacity = 0;  // survivors per query
};

// Lists that a block can rank in its registers.
inline constexpr std::int64_t most_survivors = 16384;
// Up to so many queries read the points once and compute little: launches and waiting are what a level costs them.
inline constexpr std::int64_t few_queries = 256;

// The rank in a sample of `sample` that the k-th of n exceeds with odds of about one to a million.
inline std::int64_t sample_rank(std::int64_t k, std::int64_t sample, std::int64_t n) {
    const double share = static_cast<double>(k) * static_cast<double>(sample) / static_cast<double>(n);
    const double rank = share + 4.5 * std::sqrt(share) + 3.5;
    return std::min({static_cast<std::int64_t>(std::ceil(rank)), std::max(k, std::int64_t{1}), sample});
}

// Room for the survivors of a limit of that rank among `ratio` times as many points, six deviations over their mean.
inline double survivor_room(std::int64_t rank, double ratio) {
    const double r = static_cast<double>(rank);
    return ratio * (r + 6 * std::sqrt(r) + 4);
}

// What a list needs for all n points when `kept` of the first `sample` are within the limit.
inline std::int64_t needed_capacity(std::int64_t kept, std::int64_t sample, std::int64_t n) {
    const double r = static_cast<double>(kept);
    const double room = static_cast<double>(n) / static_cast<double>(sample) * (r + 5 * std::sqrt(r) + 3);
    return static_cast<std::int64_t>(std::min(room + 63, 1e15)) / 64 * 64;
}

// Levels for n points (a chunk) and q queries; `k` counts the query itself where it is among the points.
inline FilterLevels filter_levels(std::int64_t n, std::int64_t q, std::int64_t k) {
    FilterLevels levels;
    // Few queries: one large sample in place of two; for the very fewest, survivors cost less than the sample.
    const std::int64_t dense = q <= 16 ? 4096 : q <= few_queries ? 16384 : n <= std::int64_t{1} << 18 ? 2048 : 4096;
    levels.sample[0] = std::min(n, dense);
    if (n >= 16 * dense && q > few_queries) {
        levels.count = 2;
        const double middle = std::sqrt(static_cast<double>(n) * static_cast<double>(dense));
        levels.sample[1] = static_cast<std::int64_t>(middle / filter_tile_points) * filter_tile_points;
        levels.rank[1] = sample_rank(k, levels.sample[1], n);
        levels.rank[0] = sample_rank(levels.rank[1], levels.sample[0], levels.sample[1]);
    } else {
        levels.rank[0] = sample_rank(k, levels.sample[0], n);
    }
    double room = 0;
    for (int i = 0; i < levels.count; ++i) {
        const std::int64_t next = i + 1 < levels.count ? levels.sample[static_cast<std::size_t>(i) + 1] : n;
        const auto at = static_cast<std::size_t>(i);
        room = std::max(
            room, survivor_room(levels.rank[at], static_cast<double>(next) / static_cast<double>(levels.sample[at])));
    }
    levels.capacity = std::min<std::int64_t>(static_cast<std::int64_t>(room + 63) / 64 * 64, most_survivors);
    return levels;
}

// Halves per row of the filter's vectors.
inline std::int64_t filter_width(std::int64_t d, int terms) {
    return (d + 15) / 16 * 16 * (terms == 1 ? 1 : 3);
}

// The relative error of a product of that width in matrix units. They align a step of K products and the accumulator to
// the largest of them, cut off what lies below, add, and cut the sum: (K + 2) / K 2^-23 per product, 1.5 for K = 4.
// The 8 are room for rounding what the accumulator starts from, and for exchanging it (survivors.cuh): another 5 x
// 2^-24 at most. Then what is of second order.
inline double filter_gamma(std::int64_t width) {
    const double gamma = 3.0 * static_cast<double>(width + 8) * 0x1p-24;
    return gamma * (1 + 4 * gamma);
}

}  // namespace kith::gpu
