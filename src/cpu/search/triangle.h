// A part of the triangle of a graph's pairs on one thread of the CPU (Kato and Hosino 2009): the distance of each pair
// is computed once and pushed to the lists of both.
#pragma once

#include <cstdint>

#include "exact/metric_spec.h"
#include "exact/progress.h"

namespace kith::cpu {

struct TrianglePart {
    int part = 0, parts = 1;  // rows of grids are dealt (exact/deal.h)
    std::int64_t grid = 0;    // points of a side of a grid
    std::int64_t k = 0;
    bool symmetric = false;  // distance keys are the same bits from either side; else both are computed
    ProgressMeter& progress;
};

// The k nearest of each point among the pairs of the part: n x k ordered keys (exact/order.h; all ones: missing) and
// ids, each row sorted. `points`: in host memory.
void triangle_part(const MatrixView& points, const MetricSpec& metric, const TrianglePart& part, std::uint64_t* keys,
                   std::uint32_t* ids);

}  // namespace kith::cpu
