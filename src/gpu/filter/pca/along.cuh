// The error of a row's computed coordinates along the projection's columns.
#pragma once

#include "gpu/filter/pca/projection.h"

namespace kith::gpu {

// The error of row i of `along`, for a vector with squared norm norm2.
__device__ inline exact::ProjectionError error_of_row(const Directions& directions,
                                                      const Along& along, std::int64_t i,
                                                      double norm2) {
    return directions.error.with(
        norm2 > 0 ? static_cast<double>(along.lost[i]) / sqrt(norm2) * (1 + 0x1p-40) : 0.0);
}

}  // namespace kith::gpu
