// Points in shards: the neighbours in each shard, with the keys that order them, and their merge. The merged result is
// bit-identical to one search of all points.
//
//     kith::PartialNeighbors all = kith::search_shard(first_half, 0, queries, 10);
//     kith::merge(all, kith::search_shard(second_half, first_half.rows, queries, 10));
//     kith::Neighbors nn = kith::finish(all);  // == kith::search(both_halves, queries, 10), but for the report
//
// Range-search rows are not truncated: the rows of all shards (radius_shard) are merged in one step (merge_radius).
#pragma once

#include <cstdint>
#include <vector>

#include "kith/export.h"
#include "kith/radius.h"
#include "kith/types.h"

namespace kith {

// The nearest neighbours of each query among some of the points. Reported distances do not suffice to merge searches:
// after the root and rounding, two may be equal although their order is known. It therefore holds the distance keys
// (docs/contract.md, section 1), which are compared, and from which finish() computes the distances.
struct PartialNeighbors {
    std::int64_t queries = 0;
    std::int64_t k = 0;
    std::int64_t dimensions = 0;
    std::vector<std::int64_t> ids;  // queries x k, counted among all points; -1 if missing
    std::vector<double> keys;       // queries x k, each row ordered by (key, id); +inf if missing
};

// The k nearest of each query in a shard: rows of a larger set of points, where row 0 has the id `first_point`. Shards
// and queries are in host memory. The metric must be complete: inverse_covariance and variances belong to all points,
// and are not estimated from a shard. `report`, unless null: see search(). `prepared`, unless null: an Index of the
// shard (Index::borrowing), which serves all blocks of queries. Throws what search() throws.
KITH_EXPORT PartialNeighbors search_shard(const MatrixView& shard, std::int64_t first_point, const MatrixView& queries,
                                          std::int64_t k, const Options& options = {}, Report* report = nullptr,
                                          const Index* prepared = nullptr);

// Likewise for a graph: the queries are points too, row 0 of them has id `first_query`, and none is its own neighbour.
// Options::include_self causes invalid_argument.
KITH_EXPORT PartialNeighbors graph_shard(const MatrixView& shard, std::int64_t first_point, const MatrixView& queries,
                                         std::int64_t first_query, std::int64_t k, const Options& options = {},
                                         Report* report = nullptr, const Index* prepared = nullptr);

// Reduces `into` to the k best of both, for the same queries, by (key, id). A neighbour in both is kept once, so the
// order, grouping and repetition of merges do not matter. Throws invalid_argument if queries, k or dimensions differ,
// or for rows that no search makes, as finish() does.
KITH_EXPORT void merge(PartialNeighbors& into, const PartialNeighbors& other);

// The neighbours with the distances that Options::metric reports, as f64 with Options::f64. The report is empty.
KITH_EXPORT Neighbors finish(const PartialNeighbors& partial, const Options& options = {});

// Range search in a shard, in blocks of rows as from radius_blocks(). Ids count among all points, and `distances64`
// holds the distance keys, regardless of Options::f64. Shards, queries and metric as for search_shard(); the default
// metric is euclidean, as for radius(). Throws what radius() throws.
KITH_EXPORT Report radius_shard(const MatrixView& shard, std::int64_t first_point, const MatrixView& queries,
                                const Radius& r, const Options& options, const TakeRadiusRows& take);
// Likewise for a graph; see graph_shard().
KITH_EXPORT Report radius_graph_shard(const MatrixView& shard, std::int64_t first_point, const MatrixView& queries,
                                      std::int64_t first_query, const Radius& r, const Options& options,
                                      const TakeRadiusRows& take);
// Counts only; add the counts of all shards.
KITH_EXPORT RadiusCounts radius_shard_counts(const MatrixView& shard, const MatrixView& queries, const Radius& r,
                                             const Options& options = {});
KITH_EXPORT RadiusCounts radius_graph_shard_counts(const MatrixView& shard, std::int64_t first_point,
                                                   const MatrixView& queries, std::int64_t first_query, const Radius& r,
                                                   const Options& options = {});

// Merges the same rows from every shard into those of radius() of all points, with the distances that Options::metric
// reports, as f64 with Options::f64. The report is empty. Throws invalid_argument if the numbers of rows differ.
KITH_EXPORT RadiusNeighbors merge_radius(const std::vector<RadiusRows>& shards, std::int64_t dimensions,
                                         const Options& options = {});

}  // namespace kith
