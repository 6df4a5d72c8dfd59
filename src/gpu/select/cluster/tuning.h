// How "cluster-select" spreads a row over blocks and registers. Plain host code, shared by the
// planner and the run.
//
// Reasoned for an H100 and an H200 (132 multiprocessors, clusters of up to 16 blocks) on
// 2026-11-22; timings are in lab/*-select-small-batches.
#pragma once

#include <algorithm>
#include <cstdint>

namespace kith::gpu::tuning {

inline constexpr int cluster_threads = 512, cluster_max_k = 2048;
// Limits of the values per thread and of the blocks per cluster; a device without clusters gives a
// row one block.
inline constexpr int cluster_most_held = 64, cluster_most_blocks = 16;
inline constexpr std::int64_t cluster_max_n =
    std::int64_t{cluster_threads} * cluster_most_held * cluster_most_blocks;

// True if clusters are available: other devices run the kernels of 8.0, translated.
constexpr bool has_clusters(int capability) {
    return capability == 90;
}

struct ClusterShape {
    int blocks = 1;  // per cluster, a power of two
    int held = 8;    // values per thread: 8, 16, 32 or 64
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
    // Doubles the blocks while half of the multiprocessors stay idle and each block keeps 4,096
    // values. Blocks of clusters of 16 wait for each other longer than they read.
    while (shape.blocks < std::min(most, 8) && rows * shape.blocks * 4 <= multiprocessors &&
           n >= shape.blocks * 2 * 4096)
        shape.blocks *= 2;
    shape.held = held_of(shape.blocks);
    return shape;
}

}  // namespace kith::gpu::tuning
