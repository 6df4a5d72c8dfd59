// Range search: all points within a radius of each query, radius(), or of the points among themselves, radius_graph().
//
//     kith::RadiusNeighbors near =
//         kith::radius(kith::view(points.data(), n, d), kith::view(queries.data(), q, d), 0.5);
//     for (std::int64_t at = near.offsets[i]; at < near.offsets[i + 1]; ++at) near.ids[at]; near.distances[at];
//
// The default metric here is euclidean, so that r is a distance, not its square.
//
// Rows are never truncated: a row holds all points within the radius. If the result may exceed memory, radius_blocks()
// hands on the rows as they are found, and radius_counts() only counts them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "kith/export.h"
#include "kith/index.h"
#include "kith/types.h"

namespace kith {

// The radius of a range search. Points are compared by the distance that the metric reports, in binary64, before it is
// rounded to f32 (docs/contract.md, section 4): distances <= r are within, with `open` those < r. For `inner_product`,
// where larger products are nearer, products >= r are within, with `open` those > r.
//   r   not NaN; not negative if the metric's distances never are. Infinity is valid: the closed range then holds every
//       point without NaN, the open one those at finite distances.
struct Radius {
    double r = 0;       // for all queries, unless `each` has data
    MatrixView each{};  // one radius per query: q x 1 or 1 x q, f64, in host memory
    bool open = false;

    Radius() = default;
    Radius(double r_) : r(r_) {}                      // NOLINT: radius(points, queries, 0.5)
    Radius(const MatrixView& each_) : each(each_) {}  // NOLINT: likewise
};

// The points within the radius of query i are ids[offsets[i]] to ids[offsets[i + 1] - 1], ordered by (distance, id) as
// in a search. Their distances are at the same indices.
struct RadiusNeighbors {
    std::int64_t queries = 0;
    std::vector<std::int64_t> offsets;  // queries + 1; the first is 0, the last the total
    std::vector<std::int64_t> ids;
    std::vector<float> distances;     // unless Options::f64
    std::vector<double> distances64;  // with Options::f64
    bool f64 = false;                 // which of the two is valid, also if both are empty
    Report report;
};

// Only the number of points within the radius.
struct RadiusCounts {
    std::vector<std::int64_t> counts;  // per query
    Report report;
};

// Rows [first, first + count) of a result, in the library's memory, valid during the call that receives them. Its i-th
// row is ids[offsets[i]] to ids[offsets[i + 1] - 1]. Exactly one of the arrays of distances is not null.
struct RadiusRows {
    std::int64_t first = 0, count = 0;
    const std::int64_t* offsets = nullptr;  // count + 1, the first is 0
    const std::int64_t* ids = nullptr;
    const float* distances = nullptr;
    const double* distances64 = nullptr;
};
// Called from the calling thread, with all rows in order. An exception of it ends the call and reaches the caller.
using TakeRadiusRows = std::function<void(const RadiusRows&)>;

// All points within the radius of each query.
//   points  n x d, queries q x d: as in search(), n and q may be 0. Options as there, except that the default metric is
//           euclidean; `path` forces a path.
// Complexity: n q d steps of the metric and the size of the result; n x q is never stored. A point with a NaN
// coordinate is never returned; the row of a query with one is empty. A filter compares all pairs with the radius, and
// binary64 decides. Several GPUs share the queries, or the points if they do not fit on one. Throws invalid_argument,
// device, out_of_memory (also if the result does not fit), cancelled.
KITH_EXPORT RadiusNeighbors radius(const MatrixView& points, const MatrixView& queries, const Radius& r,
                                   const Options& options = {});
// Counts only. No list is stored, and pairs that the filter's bound proves to be within (certain hits) are not
// evaluated.
KITH_EXPORT RadiusCounts radius_counts(const MatrixView& points, const MatrixView& queries, const Radius& r,
                                       const Options& options = {});
// In blocks of rows of about Options::memory bytes (0: 256 MiB), or of one row if that is larger.
KITH_EXPORT Report radius_blocks(const MatrixView& points, const MatrixView& queries, const Radius& r,
                                 const Options& options, const TakeRadiusRows& take);

// The points among themselves: row i belongs to point i and excludes id i, but not duplicates of it.
// Options::include_self includes id i like any other point.
KITH_EXPORT RadiusNeighbors radius_graph(const MatrixView& points, const Radius& r, const Options& options = {});
KITH_EXPORT RadiusCounts radius_graph_counts(const MatrixView& points, const Radius& r, const Options& options = {});
KITH_EXPORT Report radius_graph_blocks(const MatrixView& points, const Radius& r, const Options& options,
                                       const TakeRadiusRows& take);

}  // namespace kith
