// Points in k-d tree order, grouped in leaves, with the bounding boxes of the leaves and of groups
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
#include "exact/report/progress.h"

namespace kith::cpu {

// The points without NaN, mapped by the metric (metric.h). Leaves hold leaf_points each, the last
// one the remainder. Level 0 holds the boxes of the leaves; each further level holds those of the
// nodes of the level before. A node is node_boxes consecutive boxes; the last level is one node.
class Tree {
public:
    // Null if the metric is not monotone. Throws when `progress` is cancelled.
    static std::shared_ptr<const Tree> make(const MatrixView& rows, const MetricSpec& metric,
                                            Isa isa, int threads, ProgressMeter& progress);

    std::int64_t points() const { return points_; }
    std::int64_t leaves() const { return (points_ + leaf_points - 1) / leaf_points; }
    // A leaf's number of points, their coordinates in the layout of TreeKernels::keys, their ids.
    std::int64_t count(std::int64_t leaf) const {
        return leaf + 1 < leaves() ? leaf_points : points_ - leaf * leaf_points;
    }
    // The number of points in a box of a level.
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
    // A node's number of boxes, their bounds in the layout of TreeKernels::bounds, and the least id
    // of the points in each box.
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

// Rows of any view, mapped by a monotone metric: rows x d values, and whether a row has a NaN.
struct MappedRows {
    Buffer<double> values;
    Buffer<std::uint8_t> nan;
    // Numbers of the rows without NaN, ascending.
    std::vector<std::int64_t> numbers;
};
MappedRows map_rows(const MatrixView& rows, std::int64_t first, std::int64_t count,
                    const MetricSpec& metric, Isa isa, int threads, ProgressMeter& progress,
                    const char* stage);

}  // namespace kith::cpu
