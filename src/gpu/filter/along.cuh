// What a row's coordinates along columns are away from the exact ones.
#pragma once

#include "gpu/filter/projection.h"

namespace kith::gpu {

// Of row i of `along`, a vector whose squares add up to norm2.
__device__ inline exact::ProjectionError error_of_row(const Directions& directions,
                                                      const Along& along, std::int64_t i,
                                                      double norm2) {
    return directions.error.with(
        norm2 > 0 ? static_cast<double>(along.lost[i]) / sqrt(norm2) * (1 + 0x1p-40) : 0.0);
}

}  // namespace kith::gpu
