// Tiles of distance keys on a device as rows of the caller's matrix of distances.
#pragma once

#include "gpu/points/points.h"

namespace kith::gpu {

struct KeyTile {
    const std::uint64_t* keys = nullptr;  // q x n ordered keys (exact/order.h)
    // Per row; the distance is NaN if either is not 0.
    const std::uint8_t *query_nan = nullptr, *point_nan = nullptr;
    std::int64_t q = 0, n = 0;
    std::int64_t first_query = 0, first_point = 0;  // of the caller's matrix
};

// Reports the distances of a tile into `values` (room for q x n of the request's type), and copies
// them to the request's matrix. Enqueues.
void deliver_keys(const DeviceMetric& metric, const KeyTile& tile, const DistancesRequest& request,
                  char* values, cudaStream_t stream);

}  // namespace kith::gpu
