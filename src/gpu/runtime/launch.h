// Sizes of launches.
#pragma once

#include <cstdint>

namespace kith::gpu {

// Blocks for items of which each block owns so many.
inline unsigned blocks_for(std::int64_t items, std::int64_t per_block) {
    return static_cast<unsigned>((items + per_block - 1) / per_block);
}

// Threads of a block of kernels in which a thread owns an item; of those in which a warp does, with
// the warps.
inline constexpr int item_threads = 256, item_warps = item_threads / 32;
inline unsigned item_blocks(std::int64_t items) {
    return blocks_for(items, item_threads);
}

}  // namespace kith::gpu
