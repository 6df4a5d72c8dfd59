// A part of a graph in grids (the path "kato"), on the CPU and on a GPU.
#pragma once

#include <cstdint>

#include "exact/metric_spec.h"
#include "exact/progress.h"
#include "kith/types.h"

namespace kith {

// A device's part of the triangle of a graph's pairs, in grids (Kato and Hosino 2009): the distance
// of each pair is computed once and pushed to the heaps of both points.
struct TrianglePart {
    int part = 0, parts = 1;  // rows of grids are dealt (papers/kato/deal.h)
    std::int64_t grid = 0;    // points of a side of a grid
    std::int64_t k = 0;       // at most the points
    bool symmetric =
        false;  // distance keys are the same bits from either side; else both are computed
    void* stream = nullptr;  // cudaStream_t of a GPU
    ProgressMeter& progress;
};

namespace cpu {

// On one thread: the k nearest of each point among the pairs of the part, n x k ordered keys
// (exact/order.h; all ones: missing) and ids, each row sorted. `points`: in host memory.
void triangle_part(const MatrixView& points, const MetricSpec& metric, const TrianglePart& part,
                   std::uint64_t* keys, std::uint32_t* ids);
// What it takes at most beside them.
std::int64_t triangle_bytes(std::int64_t n, std::int64_t k);

}  // namespace cpu

namespace gpu {

class Points;
// The same of points on a device, all of them resident; keys and ids in host memory.
void triangle_part(const Points& points, const TrianglePart& part, std::uint64_t* keys,
                   std::uint32_t* ids);

}  // namespace gpu

}  // namespace kith
