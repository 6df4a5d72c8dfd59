// Builds a tree: maps and orders the points, fills the leaves, joins the boxes.
#include "cpu/tree/tree.h"

#include <algorithm>
#include <limits>

#include "cpu/metric/kernels.h"
#include "cpu/primitives/rows.h"
#include "cpu/tree/order.h"
#include "exact/report/watched.h"

namespace kith::cpu {

namespace {

constexpr std::int64_t mapped_rows = 4096, filled_leaves = 64;

}  // namespace

MappedRows map_rows(const MatrixView& rows, std::int64_t first, std::int64_t count,
                    const MetricSpec& metric, Isa isa, int threads, ProgressMeter& progress,
                    const char* stage) {
    const std::int64_t d = rows.cols;
    MappedRows m{Buffer<double>(count * d), Buffer<std::uint8_t>(count), {}};
    const RowKernels& kernels = row_kernels(isa);
    const MetricKernels& mapping = metric_kernels(metric.id, isa);
    watched_for(
        threads, count, mapped_rows, progress, stage, [&](std::int64_t begin, std::int64_t end) {
            double* const to = m.values.data() + begin * d;
            widen_view(kernels, rows, first + begin, end - begin, to, d, m.nan.data() + begin);
            if (!mapping.identity_map) mapping.prepare(to, d, end - begin, nullptr, metric.params);
        });
    if (progress.cancelled()) return m;
    m.numbers.reserve(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i)
        if (!m.nan[i]) m.numbers.push_back(i);
    return m;
}

std::shared_ptr<const Tree> Tree::make(const MatrixView& rows, const MetricSpec& metric, Isa isa,
                                       int threads, ProgressMeter& progress) {
    if (!metric_traits(metric.id).monotone) return nullptr;
    MappedRows mapped = map_rows(rows, 0, rows.rows, metric, isa, threads, progress, "prepare");
    progress.throw_if_cancelled();
    auto tree = std::make_shared<Tree>();
    tree->points_ = static_cast<std::int64_t>(mapped.numbers.size());
    tree->d_ = rows.cols;
    for (std::int64_t i = 0; i < rows.rows; ++i)
        if (mapped.nan[i]) tree->nan_rows_.push_back(i);
    order_rows(mapped.values.data(), rows.cols, mapped.numbers.data(), tree->points_, leaf_points,
               threads, progress);
    progress.throw_if_cancelled();
    const std::int64_t leaves = tree->leaves();
    tree->ids_ = Buffer<std::int64_t>(leaves * leaf_points);
    tree->coordinates_ = Buffer<double>(leaves * leaf_points * rows.cols);
    std::copy(mapped.numbers.begin(), mapped.numbers.end(), tree->ids_.data());
    std::fill(tree->ids_.data() + tree->points_, tree->ids_.data() + leaves * leaf_points, -1);
    for (std::int64_t boxes = leaves, nodes = 0; nodes != 1; boxes = nodes) {
        nodes = std::max<std::int64_t>(1, (boxes + node_boxes - 1) / node_boxes);
        tree->levels_.push_back({boxes, Buffer<double>(nodes * 2 * rows.cols * node_boxes),
                                 Buffer<std::int64_t>(nodes * node_boxes)});
        const int level = tree->levels() - 1;
        watched_for(threads, nodes, filled_leaves / node_boxes, progress, "prepare",
                    [&](std::int64_t first, std::int64_t last) {
                        for (std::int64_t node = first; node < last; ++node) {
                            if (level == 0) {
                                for (std::int64_t b = 0; b < tree->boxes(0, node); ++b)
                                    tree->fill_leaf(mapped.values.data(), node * node_boxes + b);
                            }
                            tree->join(level, node);
                        }
                    });
        progress.throw_if_cancelled();
    }
    return tree;
}

void Tree::fill_leaf(const double* rows, std::int64_t leaf) {
    double* const to = coordinates_.data() + leaf * d_ * leaf_points;
    const std::int64_t here = count(leaf);
    for (std::int64_t p = 0; p < leaf_points; ++p) {
        // Pads with copies of the last point, which are never read as results.
        const double* const row = rows + ids(leaf)[std::min(p, here - 1)] * d_;
        for (std::int64_t j = 0; j < d_; ++j) to[j * leaf_points + p] = row[j];
    }
}

// Computes the boxes of a node from the leaves or nodes below them; unused boxes of the node are
// empty.
void Tree::join(int level, std::int64_t node) {
    Level& own = levels_[static_cast<std::size_t>(level)];
    double* const ends = own.ends.data() + node * 2 * d_ * node_boxes;
    std::int64_t* const least = own.least_ids.data() + node * node_boxes;
    std::fill_n(ends, 2 * d_ * node_boxes, 0.0);
    std::fill_n(least, node_boxes, std::numeric_limits<std::int64_t>::max());
    for (std::int64_t b = 0; b < boxes(level, node); ++b) {
        const std::int64_t child = node * node_boxes + b;
        const std::int64_t parts = level == 0 ? count(child) : boxes(level - 1, child);
        const std::int64_t* const of = level == 0 ? ids(child) : least_ids(level - 1, child);
        least[b] = *std::min_element(of, of + parts);
        for (std::int64_t j = 0; j < d_; ++j) {
            const double* const low = level == 0 ? coordinates(child) + j * leaf_points
                                                 : bounds(level - 1, child) + 2 * j * node_boxes;
            const double* const high = level == 0 ? low : low + node_boxes;
            ends[2 * j * node_boxes + b] = *std::min_element(low, low + parts);
            ends[(2 * j + 1) * node_boxes + b] = *std::max_element(high, high + parts);
        }
    }
}

}  // namespace kith::cpu
