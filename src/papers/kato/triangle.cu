// A part of a graph in grids, on a GPU (triangle.h). A grid is GSIZE x GSIZE distances in device
// memory. Phase 1 computes them: in f32, with candidates that are rescored, where the metric's
// bound is proven (filtered_part.cu); here in binary64. Phase 2 (heaps.cuh) pushes each row to the
// heap of its point, and each column to that of its own, by way of the transposed grid.
#include <algorithm>

#include "gpu/primitives/gather.h"
#include "gpu/primitives/sort/sort_rows.h"
#include "gpu/primitives/transpose.h"
#include "gpu/runtime/device.h"
#include "gpu/runtime/launch.h"
#include "papers/kato/heaps.cuh"
#include "papers/kato/part_rows.h"

namespace kith::gpu {

namespace {

__global__ void fill_kernel(std::int32_t* out, std::int64_t count, std::int32_t value) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i < count) out[i] = value;
}

class Triangle {
public:
    Triangle(const Points& points, const TrianglePart& part)
        : points_(points),
          part_(part),
          stream_(static_cast<cudaStream_t>(part.stream)),
          grids_{points.n, part.grid},
          d_(points.d),
          rows_(part.grid * points.d, stream_),
          columns_(part.grid * points.d, stream_),
          distances_(part.grid * part.grid, stream_),
          turned_(part.grid * part.grid, stream_),
          self_(part.grid, stream_),
          keys_(points.n * part.k, stream_),
          ids_(points.n * part.k, stream_) {
        keys_.clear_to(0xff);
        ids_.clear_to(0xff);
    }

    void run(const PartHeaps& out) {
        each_grid(
            part_, grids_, out, [&](std::int64_t y) { convert(y, rows_.get()); },
            [&](std::int64_t x, std::int64_t y) { grid(x, y); });
    }
    // Copies the sorted heaps to the host.
    void finish(const PartHeaps& out) {
        const std::int64_t n = grids_.n, k = part_.k;
        const Buffer<std::int32_t> counts(n, stream_);
        fill_kernel<<<item_blocks(n), item_threads, 0, stream_>>>(counts.get(), n,
                                                                  static_cast<std::int32_t>(k));
        check_launch("fill");
        const Buffer<std::uint64_t> sorted(n * k, stream_);
        const Buffer<std::uint32_t> sorted_ids(n * k, stream_);
        sort_rows({keys_.get(), ids_.get(), counts.get(), 1, n, k, k},
                  {sorted.get(), sorted_ids.get(), k}, stream_);
        copy_heaps(sorted.get(), sorted_ids.get(), n * k, out, stream_);
    }

private:
    PreparedRows prepared(std::int64_t i) const {
        return points_.resident.points.prepared(grids_.first(i), grids_.points(i));
    }
    void convert(std::int64_t i, double* to) {
        to_scan_order(points_.metric, prepared(i), d_, to, stream_);
    }
    // Distances of the points of y, as queries, with those of x.
    void scan(std::int64_t y, const double* queries, std::int64_t x, const double* columns,
              std::uint64_t* out) {
        const PreparedRows q = prepared(y), p = prepared(x);
        scan_grid(points_.metric,
                  {queries, columns, q.aux, p.aux, q.nan, p.nan, grids_.points(y), grids_.points(x),
                   grids_.first(x), x == y ? self_.get() : nullptr, out, part_.grid},
                  stream_);
    }
    void push(std::int64_t y, std::int64_t x, const std::uint64_t* distances, std::int64_t ld) {
        const std::int64_t heap = grids_.first(y) * part_.k;
        heaps::push_rows(
            heaps::KeyRows{distances, ld}, grids_.points(y), grids_.points(x), grids_.first(x),
            {keys_.get() + heap, ids_.get() + heap, static_cast<int>(part_.k)}, stream_);
    }
    void grid(std::int64_t x, std::int64_t y) {
        if (x == y) {
            count_up(self_.get(), grids_.points(y), grids_.first(y), stream_);
            scan(y, rows_.get(), y, rows_.get(), distances_.get());
            push(y, y, distances_.get(), part_.grid);
            return;
        }
        convert(x, columns_.get());
        scan(y, rows_.get(), x, columns_.get(), distances_.get());
        push(y, x, distances_.get(), part_.grid);
        std::int64_t ld = part_.grid;
        if (part_.symmetric) {
            // Keys are moved as raw bits.
            transpose(reinterpret_cast<const double*>(distances_.get()), part_.grid,
                      grids_.points(y), grids_.points(x), reinterpret_cast<double*>(turned_.get()),
                      stream_);
            ld = grids_.points(y);
        } else {
            scan(x, columns_.get(), y, rows_.get(), turned_.get());
        }
        push(x, y, turned_.get(), ld);
    }

    const Points& points_;
    const TrianglePart& part_;
    cudaStream_t stream_;
    Grids grids_;
    std::int64_t d_;
    Buffer<double> rows_, columns_;
    Buffer<std::uint64_t> distances_, turned_;
    Buffer<std::int64_t> self_;
    Buffer<std::uint64_t> keys_;
    Buffer<std::uint32_t> ids_;
};

}  // namespace

void triangle_part(const Points& points, const TrianglePart& part, const PartHeaps& out) {
    const DeviceScope scope(points.device);
    if (points.streams)
        throw Error(ErrorCode::out_of_memory,
                    "memory: path kato holds all points and the heaps of all of them");
    const TrimAtEnd trim(points.device, static_cast<cudaStream_t>(part.stream));
    if (filtered_part(points, part, out)) return;
    Triangle triangle(points, part);
    triangle.run(out);
    triangle.finish(out);
    std::fill_n(out.scanned, points.n, std::uint8_t{1});
}

}  // namespace kith::gpu
