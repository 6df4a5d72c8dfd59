// Many small searches at once: pairs of point clouds, or the examples of a batch.
//
//     // Cloud 0 has points 0 to 2,047 and queries 0 to 99, cloud 1 the next 1,024 points and 50 queries.
//     std::vector<kith::Batch> clouds{{0, 2048, 0, 100}, {2048, 1024, 100, 50}};
//     kith::Neighbors nn = kith::search_batches(points, queries, clouds, 16);
#pragma once

#include <cstdint>
#include <vector>

#include "kith/export.h"
#include "kith/types.h"

namespace kith {

// One search of many: a range of rows of the points, and a range of rows of the queries. Both may be empty.
struct Batch {
    std::int64_t first_point = 0, points = 0;
    std::int64_t first_query = 0, queries = 0;
};

// The k nearest points of each query within its batch, bit-identical to search() of the batch alone. Ids count from the
// batch's first point. A query that is in no batch has no neighbours.
//   points, queries  the rows of all batches, n x d and q x d: see search().
//   batches  ranges of these rows. Queries ascend from batch to batch without overlap; ranges of points are arbitrary
//   and
//            may overlap.
//   options  see search(); mahalanobis and seuclidean without a parameter estimate it from each batch's own points.
// On a GPU all batches are one launch, with Report::path "batches", under these conditions: euclidean, sqeuclidean or
// cityblock of up to 128 dimensions; k <= 128; up to 32,768 points each; no f64 elements; no forced path. Each batch is
// a separate search in all other cases, beyond the memory budget, and for more than 2^36 pairs in batches of 2^24 on
// average (beyond 32 dimensions for batches of 2^22). On a CPU small batches are one task each, and the threads share
// large ones. Throws what search() throws; invalid_argument for batches that violate the rules above.
KITH_EXPORT Neighbors search_batches(const MatrixView& points, const MatrixView& queries,
                                     const std::vector<Batch>& batches, std::int64_t k, const Options& options = {});

// Likewise, into the caller's memory (host or device): `out` holds q x k ids and distances.
KITH_EXPORT Report search_batches_into(const MatrixView& points, const MatrixView& queries,
                                       const std::vector<Batch>& batches, std::int64_t k, const Options& options,
                                       const NeighborsView& out);

}  // namespace kith
