// A part of a graph in grids (the path "kato"), on the CPU and on a GPU.
#pragma once

#include <cstdint>

#include "exact/metric_spec.h"
#include "exact/report/progress.h"
#include "kith/types.h"

namespace kith {

// A device's part of the triangle of a graph's pairs, in grids (Kato and Hosino 2009): the distance
// of each pair is computed once and pushed to the heaps of both points.
struct TrianglePart {
    int part = 0, parts = 1;  // rows of grids are dealt (papers/kato/deal.h)
    std::int64_t grid = 0;    // points per side of a grid
    std::int64_t k = 0;       // at most the number of points
    // Distance keys have the same bits from either side; else both are computed.
    bool symmetric = false;
    void* stream = nullptr;  // cudaStream_t of a GPU
    ProgressMeter& progress;
};

// True for metrics that order by the squares of mapped coordinates, which a GPU's phase 1 in f32
// takes as rounded ones.
inline bool maps_coordinates(MetricId id) {
    return id == MetricId::hellinger || id == MetricId::seuclidean;
}

// Where a GPU leaves its part, in host memory: the k nearest of each point among the part's pairs,
// as n x k ordered keys (exact/order.h; all ones: missing) and ids, each row sorted. scanned: per
// point, 1 if all of its pairs were computed in binary64, 0 if candidates of f32 values were.
struct PartHeaps {
    std::uint64_t* keys;
    std::uint32_t* ids;
    std::uint8_t* scanned;
};

namespace cpu {

// On one thread, keys and ids as of PartHeaps. `points`: in host memory.
void triangle_part(const MatrixView& points, const MetricSpec& metric, const TrianglePart& part,
                   std::uint64_t* keys, std::uint32_t* ids);
// Bytes that it needs at most, in addition to its outputs.
std::int64_t triangle_bytes(std::int64_t n, std::int64_t k);

}  // namespace cpu

namespace gpu {

class Points;
// The counterpart for points on a device, all of them resident.
void triangle_part(const Points& points, const TrianglePart& part, const PartHeaps& out);

}  // namespace gpu

}  // namespace kith
