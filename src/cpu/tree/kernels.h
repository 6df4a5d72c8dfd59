// Distance keys of one query to the points of a leaf, and to the nearest points of boxes, for one
// instruction set.
#pragma once

#include <cstdint>

#include "cpu/simd/isa.h"
#include "kith/types.h"
#include "metric/metric.h"

namespace kith::cpu {

// Points of a leaf, boxes of a node: they lie coordinate by coordinate, as columns of so many.
inline constexpr std::int64_t leaf_points = 32, node_boxes = 8;
// Up to so many dimensions kernels are unrolled.
inline constexpr std::int64_t unrolled_dimensions = 8;

struct TreeKernels {
    // out[p] is the distance key of point p of a leaf (d x leaf_points mapped coordinates); a bit
    // for each that is at most `threshold`.
    std::uint64_t (*keys)(const double* q, const double* leaf, double threshold,
                          const metric::Params& params, double* out) = nullptr;
    // The same of the points nearest to q within the boxes of a node (d x 2 x node_boxes: of each
    // coordinate the lower ends, then the upper ones): lower bounds of the distance keys of all
    // points within (docs/exactness.md, section 10).
    std::uint64_t (*bounds)(const double* q, const double* node, double threshold,
                            const metric::Params& params, double* out) = nullptr;
    // The same of the points of the boxes that are farthest from q, whose coordinates are finite:
    // upper bounds of the distance keys of all points within.
    std::uint64_t (*reaches)(const double* q, const double* node, double threshold,
                             const metric::Params& params, double* out) = nullptr;
};

// Null functions where the metric is not monotone (metric::Traits).
const TreeKernels& tree_kernels(MetricId id, Isa isa, std::int64_t d);

}  // namespace kith::cpu
