// The tile schedule of a pass of the fused filter. A work tile is a query tile x a segment of tiles
// of points; all blocks of the device walk the segments together.
#pragma once

#include <cstdint>

namespace kith::gpu {

// Tiles per segment. Short segments waste little of the last wave of work tiles and fit L2; long
// ones amortise the fixed cost of a work tile (`overhead`, in tiles). Each segment has
// `query_tiles` work tiles, and `workers` of them run at a time.
inline int segment_length(int tiles, std::int64_t query_tiles, int workers, double overhead,
                          int longest = 64) {
    int best_length = 1;
    double best = 1e30;
    for (int length = 1; length <= longest; length *= 2) {
        const std::int64_t work_tiles = std::int64_t{(tiles + length - 1) / length} * query_tiles;
        const double cost =
            static_cast<double>((work_tiles + workers - 1) / workers) * (length + overhead);
        if (cost >= best) continue;
        best = cost;
        best_length = length;
    }
    return best_length;
}

}  // namespace kith::gpu
