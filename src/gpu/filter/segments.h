// The tile schedule of a pass of the fused filter: work tiles of a query tile x a segment of tiles
// of points, which all blocks of the device walk together.
#pragma once

#include <cstdint>

namespace kith::gpu {

// Tiles per segment: few against the whole, so that the last wave of work tiles wastes little, but
// many against what a work tile costs beside its tiles (`overhead`, in tiles), and few enough for
// L2. `query_tiles` work tiles for each segment, `workers` at a time.
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
