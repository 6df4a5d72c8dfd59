// Points on a device in k-d tree order, in leaves, with the bounding boxes of the leaves and of
// groups of them.
#pragma once

#include "gpu/metric/kernels.h"
#include "gpu/runtime/memory/device_memory.h"

namespace kith::gpu {

// Points of a leaf, boxes of a node: one for each lane of a warp. The levels suffice for 2^31
// points.
inline constexpr int leaf_points = 32, node_boxes = 32, most_tree_levels = 6;
// An empty place; and the bit of a point with a NaN, which is near to nothing.
inline constexpr std::uint32_t no_point = 0xffffffffu, nan_point = 0x80000000u;

// The kernels' view of a tree. Level 0 has the boxes of the leaves; each further level has those of
// the nodes of the level before. A node is node_boxes consecutive boxes; the last level is one
// node.
struct TreeView {
    const double* coordinates = nullptr;  // leaves x d x leaf_points, as the metric maps them
    const std::uint32_t* ids = nullptr;   // leaves x leaf_points
    // Per node, level after level. `ends`, d x 2 x node_boxes: for each coordinate the lower ends,
    // then the upper ones. `least_ids`: the least id of each box's points, no_point if it has none.
    // `counts`: each box's points, without those with a NaN.
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

// Requires a monotone metric (metric::Traits). Enqueues.
Tree make_tree(const PreparedRows& rows, const MetricKernels& kernels, const metric::Params& params,
               cudaStream_t stream);

// The coordinates of rows as the metric maps them, row-major.
Buffer<double> map_rows(const PreparedRows& rows, const MetricKernels& kernels,
                        const metric::Params& params, cudaStream_t stream);

}  // namespace kith::gpu
