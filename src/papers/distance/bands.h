// Points in bands, of which a block that keeps its queries takes one after the other.
#pragma once

#include <algorithm>
#include <cstdint>

#include "gpu/runtime/device.h"

namespace kith::gpu::distance {

// Blocks that fill the device, a few to a multiprocessor.
inline constexpr int blocks_per_multiprocessor = 4;

// All bands, or, where blocks of queries alone would leave the device idle, runs of them that
// blocks share.
inline unsigned runs_of(std::int64_t bands, std::int64_t query_blocks) {
    const std::int64_t wanted =
        std::int64_t{blocks_per_multiprocessor} * device_attributes().multiprocessors;
    return static_cast<unsigned>(
        std::clamp<std::int64_t>((wanted + query_blocks - 1) / query_blocks, 1, bands));
}

}  // namespace kith::gpu::distance
