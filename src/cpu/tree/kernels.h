// Distance keys of one query to the points of a leaf, and bounds for the points of boxes, for one
// instruction set.
#pragma once

#include <cstdint>

#include "cpu/simd/isa.h"
#include "cpu/tuning.h"
#include "kith/types.h"
#include "metric/metric.h"

namespace kith::cpu {

// Boxes per node. They, and the points of a leaf, are stored coordinate by coordinate.
inline constexpr std::int64_t node_boxes = 8;
// Kernels are unrolled up to this dimension.
inline constexpr std::int64_t unrolled_dimensions = 8;

struct TreeKernels {
    // out[p] is the distance key of point p of a leaf (d x leaf_points mapped coordinates). Returns
    // a bit for each key that is at most `threshold`.
    std::uint64_t (*keys)(const double* q, const double* leaf, double threshold,
                          const metric::Params& params, double* out) = nullptr;
    // Likewise for the point of each box nearest to q: lower bounds of the distance keys of all
    // points in the box (docs/proofs/tree.md, lemma 1). A node is d x 2 x node_boxes: for each
    // coordinate the lower ends, then the upper ones.
    std::uint64_t (*bounds)(const double* q, const double* node, double threshold,
                            const metric::Params& params, double* out) = nullptr;
    // Likewise for the point of each box farthest from q, with finite coordinates: upper bounds of
    // the distance keys of all points in the box.
    std::uint64_t (*reaches)(const double* q, const double* node, double threshold,
                             const metric::Params& params, double* out) = nullptr;
};

// Null functions if the metric is not monotone (metric::Traits).
const TreeKernels& tree_kernels(MetricId id, Isa isa, std::int64_t d);

}  // namespace kith::cpu
