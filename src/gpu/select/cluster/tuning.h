// How "cluster-select" spreads a row over blocks and registers. Plain host code: the planner and
// the run share it.
//
// Reasoned for an H100 and an H200 (132 multiprocessors, clusters of up to 16 blocks) on
// 2026-11-22; what was timed is in docs/performance.md ("Selections in small batches").
#pragma once

#include <algorithm>
#include <cstdint>

namespace kith::gpu::tuning {

inline constexpr int cluster_threads = 512, cluster_max_k = 2048;
// Values that a thread holds at most, and blocks of a cluster; a device without clusters gives a
// row one block.
inline constexpr int cluster_most_held = 64, cluster_most_blocks = 16;
inline constexpr std::int64_t cluster_max_n =
    std::int64_t{cluster_threads} * cluster_most_held * cluster_most_blocks;

// Whether clusters can be had: the kernels of other devices are those of 8.0, translated.
constexpr bool has_clusters(int capability) {
    return capability == 90;
}

struct ClusterShape {
    int blocks = 1;  // of a cluster, a power of two
    int held = 8;    // values of a thread: 8, 16, 32 or 64
};

constexpr ClusterShape cluster_shape(std::int64_t n, std::int64_t rows, int multiprocessors,
                                     bool clusters) {
    const auto held_of = [n](int blocks) {
        // Shares are whole vectors of four.
        const std::int64_t part = ((n + blocks - 1) / blocks + 3) / 4 * 4;
        int held = 8;
        while (std::int64_t{held} * cluster_threads < part) held *= 2;
        return held;
    };
    ClusterShape shape;
    const int most = clusters ? cluster_most_blocks : 1;
    while (shape.blocks < most && held_of(shape.blocks) > cluster_most_held) shape.blocks *= 2;
    // More of them while that leaves half of the multiprocessors idle and each block 4,096 values;
    // clusters of 16 wait for each other longer than they read.
    while (shape.blocks < std::min(most, 8) && rows * shape.blocks * 4 <= multiprocessors &&
           n >= shape.blocks * 2 * 4096)
        shape.blocks *= 2;
    shape.held = held_of(shape.blocks);
    return shape;
}

}  // namespace kith::gpu::tuning
