// Sizes of launches.
#pragma once

#include <cstdint>

namespace kith::gpu {

// The number of blocks if each owns `per_block` items.
inline unsigned blocks_for(std::int64_t items, std::int64_t per_block) {
    return static_cast<unsigned>((items + per_block - 1) / per_block);
}

// Threads per block of kernels with a thread per item, and warps per block of kernels with a warp
// per item.
inline constexpr int item_threads = 256, item_warps = item_threads / 32;
inline unsigned item_blocks(std::int64_t items) {
    return blocks_for(items, item_threads);
}

}  // namespace kith::gpu
