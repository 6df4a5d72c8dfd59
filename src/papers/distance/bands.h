// Bands of points: a block that keeps its queries takes one band after the other.
#pragma once

#include <algorithm>
#include <cstdint>

#include "gpu/runtime/device.h"

namespace kith::gpu::distance {

// Blocks per multiprocessor that fill the device.
inline constexpr int blocks_per_multiprocessor = 4;

// The number of runs of bands: one with all bands, or more for blocks to share if blocks of queries
// alone would leave the device idle.
inline unsigned runs_of(std::int64_t bands, std::int64_t query_blocks) {
    const std::int64_t wanted =
        std::int64_t{blocks_per_multiprocessor} * device_attributes().multiprocessors;
    return static_cast<unsigned>(
        std::clamp<std::int64_t>((wanted + query_blocks - 1) / query_blocks, 1, bands));
}

}  // namespace kith::gpu::distance
