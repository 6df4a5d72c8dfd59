// Tuning numbers of threshold selection, and the device memory that follows from them. Plain host
// code: the planner and the run use the same functions.
//
// The full scans of docs/performance.md ran with these: one NVIDIA H100 80GB HBM3, 2026-11-21, n
// 131,072, q 1,024, d 128, k 10.
#pragma once

#include <algorithm>
#include <cstdint>

#include "gpu/primitives/tuning.h"

namespace kith::gpu::tuning {

// Entries per row (or slice of a row) that a selection may keep between two compactions: k
// candidates, as many again so that a compaction pays, and one step of a block.
inline std::int64_t candidate_capacity(std::int64_t k) {
    return (2 * k + 1024 + 1023) / 1024 * 1024;
}
// Slices per row: enough blocks to fill the device where rows are few, each slice long against what
// it keeps.
inline constexpr std::int64_t blocks_per_multiprocessor = 8;
inline std::int64_t select_slices(std::int64_t rows, std::int64_t k, std::int64_t cols,
                                  int multiprocessors) {
    const std::int64_t fill = (blocks_per_multiprocessor * multiprocessors + rows - 1) / rows;
    const std::int64_t worth = cols / std::max<std::int64_t>(8192, 16 * k);
    return std::clamp<std::int64_t>(std::min(fill, worth), 1, 256);
}

// Buffers of a selection and of sorting what it kept.
inline double selection_bytes(std::int64_t rows, std::int64_t k, std::int64_t cols,
                              std::int64_t entry_bytes, int multiprocessors) {
    const double slots = static_cast<double>(rows * select_slices(rows, k, cols, multiprocessors));
    const double entries = slots * static_cast<double>(candidate_capacity(k));
    const bool cub = candidate_capacity(k) > sort_in_shared;
    return entries * static_cast<double>(entry_bytes + (cub ? 24 + 6 : 0)) + slots * 24 +
           (cub ? 1 << 20 : 0);
}

}  // namespace kith::gpu::tuning
