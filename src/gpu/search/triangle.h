// A device's part of the triangle of a graph's pairs, in grids (Kato and Hosino 2009): the distance of each pair of
// points is computed once and pushed to the heaps of both. The GPU's side of the path "kato".
#pragma once

#include <cstdint>

#include "exact/progress.h"
#include "gpu/backend.h"

namespace kith::gpu {

struct TrianglePart {
    int part = 0, parts = 1;  // rows of grids are dealt (exact/deal.h)
    std::int64_t grid = 0;    // points of a side of a grid
    std::int64_t k = 0;       // at most the points
    bool symmetric = false;   // distance keys are the same bits from either side; else both are computed
    void* stream = nullptr;   // cudaStream_t
    ProgressMeter& progress;
};

// The k nearest of each point among the pairs of the part: n x k ordered keys (exact/order.h; all ones: missing) and
// ids in host memory, each row sorted. `points`: resident.
void triangle_part(const Points& points, const TrianglePart& part, std::uint64_t* keys, std::uint32_t* ids);

}  // namespace kith::gpu
