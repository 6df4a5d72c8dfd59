// Points on a device in the order of a k-d tree, in leaves, with the bounding boxes of the leaves
// and of groups of them.
#pragma once

#include "gpu/metric/kernels.h"
#include "gpu/runtime/device_memory.h"

namespace kith::gpu {

// Points of a leaf, boxes of a node: one for each lane of a warp. Levels of 2^31 points.
inline constexpr int leaf_points = 32, node_boxes = 32, most_tree_levels = 6;
// No point; a point with this bit set is one that nothing is near to, as it has a NaN.
inline constexpr std::uint32_t no_point = 0xffffffffu, nan_point = 0x80000000u;

// What kernels see of it. Level 0 has the boxes of the leaves, each further level those of the
// nodes of the level before, a node being node_boxes boxes that follow each other; the last level
// is one node.
struct TreeView {
    const double* coordinates = nullptr;  // leaves x d x leaf_points, as the metric maps them
    const std::uint32_t* ids = nullptr;   // leaves x leaf_points
    // Of all nodes, level after level. d x 2 x node_boxes: of each coordinate the lower ends, then
    // the upper ones; the least id of the points of each box, no_point where it has none; and how
    // many they are, without those with a NaN.
    const double* ends = nullptr;
    const std::uint32_t* least_ids = nullptr;
    const std::uint32_t* counts = nullptr;
    std::int64_t first_node[most_tree_levels] = {};
    std::int64_t points = 0, d = 0;
    int levels = 0;
    std::int64_t leaves() const { return (points + leaf_points - 1) / leaf_points; }
};

struct Tree {
    TreeView view;
    Buffer<double> coordinates, ends;
    Buffer<std::uint32_t> ids, least_ids, counts;
};

// Of a monotone metric (metric::Traits). Enqueues.
Tree make_tree(const PreparedRows& rows, const MetricKernels& kernels, const metric::Params& params,
               cudaStream_t stream);

// The coordinates of rows as the metric maps them, d after d.
Buffer<double> map_rows(const PreparedRows& rows, const MetricKernels& kernels,
                        const metric::Params& params, cudaStream_t stream);

}  // namespace kith::gpu
