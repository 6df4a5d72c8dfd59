// All points within a radius of each query: radius(), of a set of points among themselves radius_graph().
//
//     kith::RadiusNeighbors near = kith::radius(kith::view(points.data(), n, d), kith::view(queries.data(), q, d),
//     0.5); for (std::int64_t at = near.offsets[i]; at < near.offsets[i + 1]; ++at) near.ids[at]; near.distances[at];
//
// A metric that is left alone is euclidean here, so that r is a distance and no square.
//
// Nothing cuts a row off: it holds as many points as there are. Where that may be more than fits into memory,
// radius_blocks() hands the rows on as they are found, and radius_counts() only counts them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "kith/export.h"
#include "kith/index.h"
#include "kith/types.h"

namespace kith {

// How far away a point may be. Points are compared by the distance that the metric reports, in binary64, before it is
// rounded to f32 (docs/exactness.md): those of distance <= r are within, with `open` those < r. For `inner_product`,
// whose larger products are nearer, those of a product >= r, with `open` > r.
//   r   not NaN; not negative where the metric's distances never are. Infinity is a radius like any other: the closed
//       ball of it holds every point without NaN, the open one those at finite distances.
struct Radius {
    double r = 0;       // of every query, unless `each` has data
    MatrixView each{};  // of each query its own: q x 1 or 1 x q, f64, in host memory
    bool open = false;

    Radius() = default;
    Radius(double r_) : r(r_) {}                      // NOLINT: radius(points, queries, 0.5)
    Radius(const MatrixView& each_) : each(each_) {}  // NOLINT: likewise
};

// The points within the radius of query i are ids[offsets[i]] to ids[offsets[i + 1] - 1], ordered by (distance, id) as
// those of a search are, with their distances beside them.
struct RadiusNeighbors {
    std::int64_t queries = 0;
    std::vector<std::int64_t> offsets;  // queries + 1; the first is 0, the last the number of all
    std::vector<std::int64_t> ids;
    std::vector<float> distances;     // unless Options::f64
    std::vector<double> distances64;  // with Options::f64
    bool f64 = false;                 // which of the two, also where both are empty
    Report report;
};

// How many they are.
struct RadiusCounts {
    std::vector<std::int64_t> counts;  // of each query
    Report report;
};

// Rows [first, first + count) of an answer, the library's memory, valid within the call that gets them. Row i of them
// is ids[offsets[i]] to ids[offsets[i + 1] - 1]; of the distances one array is there.
struct RadiusRows {
    std::int64_t first = 0, count = 0;
    const std::int64_t* offsets = nullptr;  // count + 1, the first is 0
    const std::int64_t* ids = nullptr;
    const float* distances = nullptr;
    const double* distances64 = nullptr;
};
// Called from the calling thread, with all rows in order. What it throws ends the call and reaches the caller.
using TakeRadiusRows = std::function<void(const RadiusRows&)>;

// All points within the radius of each query.
//   points  n x d, queries q x d: as for search(), n and q may be 0. Options as there, but that a metric that is left
//   alone is euclidean; `path` forces a path.
// Complexity: n q d steps of the metric and the size of the answer; n x q is never stored.
// A point with a NaN coordinate is never returned; a query with one has none.
// A filter compares all pairs with the radius, and binary64 decides. Several GPUs share the queries, or
// the points that are too many for one.
// Throws invalid_argument, device, out_of_memory (also where the answer does not fit), cancelled.
KITH_EXPORT RadiusNeighbors radius(const MatrixView& points, const MatrixView& queries, const Radius& r,
                                   const Options& options = {});
// Only how many. No list is made, and pairs that the filter's bound proves to be within are not evaluated.
KITH_EXPORT RadiusCounts radius_counts(const MatrixView& points, const MatrixView& queries, const Radius& r,
                                       const Options& options = {});
// In blocks of rows, which hold about Options::memory bytes (0: 256 MiB) where no single row takes more.
KITH_EXPORT Report radius_blocks(const MatrixView& points, const MatrixView& queries, const Radius& r,
                                 const Options& options, const TakeRadiusRows& take);

// The points among themselves: row i is of point i, without id i; its duplicates stay. With Options::include_self it is
// among its row like any other point.
KITH_EXPORT RadiusNeighbors radius_graph(const MatrixView& points, const Radius& r, const Options& options = {});
KITH_EXPORT RadiusCounts radius_graph_counts(const MatrixView& points, const Radius& r, const Options& options = {});
KITH_EXPORT Report radius_graph_blocks(const MatrixView& points, const Radius& r, const Options& options,
                                       const TakeRadiusRows& take);

}  // namespace kith
