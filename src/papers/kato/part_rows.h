// The loop over grids, and the copies, of both computations of a device's part of a graph
// (triangle.h).
#pragma once

#include <algorithm>

#include "exact/order.h"
#include "gpu/metric/user.h"
#include "gpu/points/points.h"
#include "gpu/runtime/check.h"
#include "papers/kato/deal.h"
#include "papers/kato/grid_words.h"
#include "papers/kato/triangle.h"

namespace kith::gpu {

// Canonical coordinates of rows in scan order, and the keys of a tile.
inline void to_scan_order(const DeviceMetric& metric, const PreparedRows& rows, std::int64_t d,
                          double* to, cudaStream_t stream) {
    if (metric.kernels) metric.kernels->convert(rows, to, metric.params, stream);
    else user_convert(rows.rows, to, d, stream);
}
inline void scan_grid(const DeviceMetric& metric, const ScanTile& tile, cudaStream_t stream) {
    if (metric.kernels) metric.kernels->scan(tile, metric.params, stream);
    else user_scan(tile, metric.spec, stream);
}

// Calls begin(y), then grid(x, y), for the part's rows of grids. Fills the heaps on the host while
// the device computes: pages that are new to the process take the host longer than the copy does.
template <class Begin, class Grid>
void each_grid(const TrianglePart& part, const Grids& grids, const PartHeaps& out, Begin begin,
               Grid grid) {
    auto* const stream = static_cast<cudaStream_t>(part.stream);
    const std::int64_t cells = grids.n * part.k,
                       own = exact::dealt_rows(grids.count(), part.part, part.parts);
    for (std::int64_t t = 0; t < own; ++t) {
        const std::int64_t y = exact::dealt_row(t, part.part, part.parts);
        begin(y);
        for (std::int64_t x = y; x < grids.count(); ++x) {
            grid(x, y);
            part.progress.add(static_cast<double>(grids.points(x)) *
                              static_cast<double>(grids.points(y)) * (x == y ? 1 : 2));
        }
        const std::int64_t from = cells * t / own, to = cells * (t + 1) / own;
        std::fill(out.keys + from, out.keys + to, exact::Order<double>::nan);
        std::fill(out.ids + from, out.ids + to, ~std::uint32_t{0});
        check(cudaStreamSynchronize(stream), "grids of a graph");
        part.progress.poll("search");
        part.progress.throw_if_cancelled();
    }
}

// Copies sorted heaps to the host.
inline void copy_heaps(const std::uint64_t* keys, const std::uint32_t* ids, std::int64_t count,
                       const PartHeaps& out, cudaStream_t stream) {
    InFlight copies(stream);
    const auto cells = static_cast<std::size_t>(count);
    check(cudaMemcpyAsync(out.keys, keys, cells * sizeof *keys, cudaMemcpyDefault, stream),
          "cudaMemcpy");
    check(cudaMemcpyAsync(out.ids, ids, cells * sizeof *ids, cudaMemcpyDefault, stream),
          "cudaMemcpy");
    copies.wait("heaps of a graph");
}

// The part with phase 1 in f32, certified and rescored; see filtered_part.cu. False, with nothing
// kept in `out`, if the metric has no proven bound, if there is no room, or if too few points are
// certified.
bool filtered_part(const Points& points, const TrianglePart& part, const PartHeaps& out);

}  // namespace kith::gpu
