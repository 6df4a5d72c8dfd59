// How a pass of the fused filter is cut into units: blocks of queries x segments of tiles of points, which all blocks
// of the device walk together.
#pragma once

#include <cstdint>

namespace kith::gpu {

// Tiles per segment: short against the whole, so that the last round of units wastes little, but long against what a
// unit costs beside its tiles (`beside`, in tiles), and short enough for L2. `groups` of queries, units for `workers`
// at a time.
inline int segment_length(int tiles, std::int64_t groups, int workers, double beside, int longest = 64) {
    int best_length = 1;
    double best = 1e30;
    for (int length = 1; length <= longest; length *= 2) {
        const std::int64_t units = std::int64_t{(tiles + length - 1) / length} * groups;
        const double cost = static_cast<double>((units + workers - 1) / workers) * (length + beside);
        if (cost >= best) continue;
        best = cost;
        best_length = length;
    }
    return best_length;
}

}  // namespace kith::gpu
