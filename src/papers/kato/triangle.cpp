// A part of a graph in grids, on one thread of the CPU (triangle.h).
#include <algorithm>
#include <array>
#include <vector>

#include "cpu/metric/distance_keys.h"
#include "cpu/primitives/top_k.h"
#include "exact/order.h"
#include "papers/kato/deal.h"
#include "papers/kato/triangle.h"

namespace kith::cpu {

namespace {

// Columns with their coordinates loaded while rows pass by them.
constexpr std::int64_t tile_columns = 128;

class Triangle {
public:
    Triangle(const MatrixView& points, const MetricSpec& metric, const TrianglePart& part)
        : points_(points),
          part_(part),
          distance_keys_(metric, best_isa()),
          row_(1, points.cols),
          column_(1, points.cols),
          tile_(tile_columns, points.cols),
          single_(1, points.cols),
          best_(static_cast<std::size_t>(points.rows), TopK(part.k)) {}

    void run() {
        const std::int64_t n = points_.rows, grids = (n + part_.grid - 1) / part_.grid,
                           own = exact::dealt_rows(grids, part_.part, part_.parts);
        for (std::int64_t t = 0; t < own; ++t) {
            const std::int64_t y = exact::dealt_row(t, part_.part, part_.parts),
                               first = y * part_.grid, end = std::min(n, first + part_.grid);
            for (std::int64_t x = first; x < n; x += tile_columns) {
                columns(first, end, x, std::min(tile_columns, n - x));
                part_.progress.poll("search");
                part_.progress.throw_if_cancelled();
            }
        }
    }
    void finish(std::uint64_t* keys, std::uint32_t* ids) {
        for (TopK& best : best_) {
            std::uint64_t* const end = keys + part_.k;
            for (const Neighbor& neighbor : best.finish()) {
                *keys++ = exact::Order<double>::key(neighbor.rank);
                *ids++ = static_cast<std::uint32_t>(neighbor.id);
            }
            ids = std::fill_n(ids, end - keys, ~std::uint32_t{0});
            keys = std::fill_n(keys, end - keys, exact::Order<double>::nan);
        }
    }

private:
    // Rows [first, end) with columns [x, x + count): the pairs with the column after the row.
    void columns(std::int64_t first, std::int64_t end, std::int64_t x, std::int64_t count) {
        distance_keys_.load_points(points_, x, count, tile_);
        std::array<double, tile_columns> ranks{};
        for (std::int64_t y = first; y < std::min(end, x + count - 1); ++y) {
            distance_keys_.load(points_, y, 1, row_);
            const std::int64_t from = std::max<std::int64_t>(0, y + 1 - x);
            part_.progress.add(2 * static_cast<double>(count - from));
            if (row_.nan()[0]) continue;  // a row with a NaN is in no answer and has none
            distance_keys_.compute(row_, 0, tile_, count, ranks.data());
            if (!part_.symmetric) distance_keys_.load_points(points_, y, 1, single_);
            for (std::int64_t i = from; i < count; ++i) {
                if (tile_.nan()[i]) continue;
                double rank = ranks[static_cast<std::size_t>(i)];
                best_[static_cast<std::size_t>(y)].push(rank, x + i);
                if (!part_.symmetric) {
                    distance_keys_.load(points_, x + i, 1, column_);
                    distance_keys_.compute(column_, 0, single_, 1, &rank);
                }
                best_[static_cast<std::size_t>(x + i)].push(rank, y);
            }
        }
    }

    const MatrixView& points_;
    const TrianglePart& part_;
    DistanceKeys distance_keys_;
    RowBlock row_, column_, tile_, single_;
    std::vector<TopK> best_;
};

}  // namespace

void triangle_part(const MatrixView& points, const MetricSpec& metric, const TrianglePart& part,
                   std::uint64_t* keys, std::uint32_t* ids) {
    Triangle triangle(points, metric, part);
    triangle.run();
    triangle.finish(keys, ids);
}

std::int64_t triangle_bytes(std::int64_t n, std::int64_t k) {
    return n * TopK::bytes(k);
}

}  // namespace kith::cpu
