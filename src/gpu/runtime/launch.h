// Sizes of launches with a thread per item.
#pragma once

#include <cstdint>

namespace kith::gpu {

// Threads of a block of kernels in which a thread owns an item.
inline constexpr int item_threads = 256;
inline unsigned item_blocks(std::int64_t items) {
    return static_cast<unsigned>((items + item_threads - 1) / item_threads);
}

}  // namespace kith::gpu
