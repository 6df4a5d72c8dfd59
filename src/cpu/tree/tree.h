// Points in the order of a k-d tree, in leaves, and the bounding boxes of the leaves and of groups
// of them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

#include "cpu/primitives/buffer.h"
#include "cpu/simd/isa.h"
#include "cpu/tree/kernels.h"
#include "exact/metric_spec.h"
#include "exact/progress.h"

namespace kith::cpu {

// The points without NaN, mapped by the metric (metric.h). Leaves hold leaf_points of them each,
// the last one what is left. Level 0 has the boxes of the leaves, each further level those of the
// nodes of the level before, a node being node_boxes boxes that follow each other; the last level
// is one node.
class Tree {
public:
    // Null where the metric is not monotone. Throws where `progress` is cancelled.
    static std::shared_ptr<const Tree> make(const MatrixView& rows, const MetricSpec& metric,
                                            Isa isa, int threads, ProgressMeter& progress);

    std::int64_t points() const { return points_; }
    std::int64_t leaves() const { return (points_ + leaf_points - 1) / leaf_points; }
    // Of a leaf: how many points, their coordinates as TreeKernels::keys takes them, their ids.
    std::int64_t count(std::int64_t leaf) const {
        return leaf + 1 < leaves() ? leaf_points : points_ - leaf * leaf_points;
    }
    // How many points there are in a box of a level.
    std::int64_t count(int level, std::int64_t box) const {
        const std::int64_t points =
            leaf_points << (level * std::countr_zero(static_cast<std::uint64_t>(node_boxes)));
        return std::min(points, points_ - box * points);
    }
    const double* coordinates(std::int64_t leaf) const {
        return coordinates_.data() + leaf * d_ * leaf_points;
    }
    const std::int64_t* ids(std::int64_t leaf) const { return ids_.data() + leaf * leaf_points; }

    // Rows with a NaN, ascending.
    const std::vector<std::int64_t>& nan_rows() const { return nan_rows_; }

    int levels() const { return static_cast<int>(levels_.size()); }
    // Of a node: how many boxes, as TreeKernels::bounds takes them, the least id of the points of
    // each.
    std::int64_t boxes(int level, std::int64_t node) const {
        const std::int64_t all = levels_[static_cast<std::size_t>(level)].boxes;
        return all - node * node_boxes < node_boxes ? all - node * node_boxes : node_boxes;
    }
    const double* bounds(int level, std::int64_t node) const {
        return levels_[static_cast<std::size_t>(level)].ends.data() + node * 2 * d_ * node_boxes;
    }
    const std::int64_t* least_ids(int level, std::int64_t node) const {
        return levels_[static_cast<std::size_t>(level)].least_ids.data() + node * node_boxes;
    }

private:
    struct Level {
        std::int64_t boxes;
        Buffer<double> ends;
        Buffer<std::int64_t> least_ids;
    };
    void fill_leaf(const double* rows, std::int64_t leaf);
    void join(int level, std::int64_t node);

    std::int64_t points_ = 0, d_ = 0;
    Buffer<double> coordinates_;
    Buffer<std::int64_t> ids_;
    std::vector<Level> levels_;
    std::vector<std::int64_t> nan_rows_;
};

// Rows of any view as a monotone metric maps them: rows x d values, and whether a row has a NaN.
struct MappedRows {
    Buffer<double> values;
    Buffer<std::uint8_t> nan;
    // Numbers of the rows without, ascending.
    std::vector<std::int64_t> numbers;
};
MappedRows map_rows(const MatrixView& rows, std::int64_t first, std::int64_t count,
                    const MetricSpec& metric, Isa isa, int threads, ProgressMeter& progress,
                    const char* stage);

}  // namespace kith::cpu
