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

// One search of many: rows of the points, and rows of the queries that are looked for among them. Both may be empty.
struct Batch {
    std::int64_t first_point = 0, points = 0;
    std::int64_t first_query = 0, queries = 0;
};

// The k nearest points of each query within its batch, to the last bit what search() finds in the batch alone; ids
// count from the batch's first point. A query of no batch has no neighbours.
//   points, queries  the rows of all batches, n x d and q x d: as search() takes them.
//   batches  within those rows. Queries ascend from batch to batch and none is in two; points may lie anywhere, and be
//            shared.
//   options  as of search(); mahalanobis and seuclidean without a parameter estimate it from each batch's own points.
// On a GPU (euclidean, sqeuclidean and cityblock of up to 32 dimensions, k <= 128, up to 32,768 points each, elements
// other than f64, no forced path) all batches are one launch, and Report::path is "batches"; of everything else, beyond
// the memory budget, and of more than 2^36 pairs in batches of 2^24 on average, each batch is a search. On a CPU small
// batches are a task each, and the threads share those that are large.
// Throws as search(), invalid_argument for batches that are not as said above.
KITH_EXPORT Neighbors search_batches(const MatrixView& points, const MatrixView& queries,
                                     const std::vector<Batch>& batches, std::int64_t k, const Options& options = {});

// The same, into the caller's memory (host or device): `out` holds q x k ids and distances.
KITH_EXPORT Report search_batches_into(const MatrixView& points, const MatrixView& queries,
                                       const std::vector<Batch>& batches, std::int64_t k, const Options& options,
                                       const NeighborsView& out);

}  // namespace kith
