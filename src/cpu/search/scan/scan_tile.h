// The tile of the full scan: queries and points that a thread works on at a time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/primitives/top_k.h"
#include "cpu/tuning.h"
#include "strategy/facts.h"

namespace kith::cpu {

inline strategy::Tile scan_tile(std::int64_t n, std::int64_t q, std::int64_t d, std::int64_t k,
                                int threads) {
    // Bytes of the neighbours of a thread's queries. A single query may need more.
    constexpr std::int64_t kept_bytes = 32 << 20;
    const std::int64_t rows = scan_block_bytes / (8 * std::max<std::int64_t>(d, 1)),
                       lists = kept_bytes / TopK::bytes(k), of_thread = (q + threads - 1) / threads;
    // For few points the tile is no larger than they are: allocation dominates a small search.
    return {std::clamp<std::int64_t>(std::min({rows, lists, of_thread}), 1, max_scan_queries),
            std::clamp<std::int64_t>(rows / 8 * 8, least_scan_points,
                                     std::min(max_scan_points, (n + 7) / 8 * 8))};
}

}  // namespace kith::cpu
