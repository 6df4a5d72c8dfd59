// Points in shards: the neighbours among each, with the keys that order them, and their merge, which is the answer of
// one search of all points, bit for bit.
//
//     kith::PartialNeighbors all = kith::search_shard(first_half, 0, queries, 10);
//     kith::merge(all, kith::search_shard(second_half, first_half.rows, queries, 10));
//     kith::Neighbors nn = kith::finish(all);  // == kith::search(both_halves, queries, 10), but for the report
//
// Within a radius nothing is cut off: rows of each shard (radius_shard) are merged at once (merge_radius).
#pragma once

#include <cstdint>
#include <vector>

#include "kith/export.h"
#include "kith/radius.h"
#include "kith/types.h"

namespace kith {

// The nearest of each query among some of the points. What a search returns does not suffice to merge it with others:
// two distances may be equal after their root is taken and rounded where the order knows which is smaller. So it holds
// the distance keys (docs/exactness.md, section 1), which are compared, and of which finish() makes the distances.
struct PartialNeighbors {
    std::int64_t queries = 0;
    std::int64_t k = 0;
    std::int64_t dimensions = 0;
    std::vector<std::int64_t> ids;  // queries x k, counted among all points; -1 where missing
    std::vector<double> keys;       // queries x k, each row ordered by (key, id); +inf where missing
};

// The k nearest of each query in a shard: rows of a larger set of points, of which row 0 has the id `first_point`.
// Shards and queries lie in host memory. The metric must be complete: inverse_covariance and variances are of all
// points, and are not estimated from a shard. `report` unless null: as search() gives it. `prepared` unless null: an
// Index of the shard (Index::borrowing), which serves all blocks of queries. Throws as search() does.
KITH_EXPORT PartialNeighbors search_shard(const MatrixView& shard, std::int64_t first_point, const MatrixView& queries,
                                          std::int64_t k, const Options& options = {}, Report* report = nullptr,
                                          const Index* prepared = nullptr);

// The same of a graph: the queries are points too, row 0 of them the one of id `first_query`, and none is its own
// neighbour. Options::include_self is invalid_argument.
KITH_EXPORT PartialNeighbors graph_shard(const MatrixView& shard, std::int64_t first_point, const MatrixView& queries,
                                         std::int64_t first_query, std::int64_t k, const Options& options = {},
                                         Report* report = nullptr, const Index* prepared = nullptr);

// Makes `into` the k best of what both hold of the same queries, by (key, id). A neighbour that both hold is taken
// once, so the order, the grouping and the repetition of merges do not matter. Throws invalid_argument where queries, k
// or dimensions differ.
KITH_EXPORT void merge(PartialNeighbors& into, const PartialNeighbors& other);

// The neighbours with the distances that Options::metric reports, as f64 with Options::f64. The report is empty.
KITH_EXPORT Neighbors finish(const PartialNeighbors& partial, const Options& options = {});

// All points of a shard within a radius of each query, in blocks of rows as radius_blocks() hands them on, but with ids
// counted among all points and, whatever Options::f64 says, in `distances64` the distance keys. Shards and queries as
// for search_shard(), metric likewise; one that is left alone is euclidean, as for radius(). Throws as that does.
KITH_EXPORT Report radius_shard(const MatrixView& shard, std::int64_t first_point, const MatrixView& queries,
                                const Radius& r, const Options& options, const TakeRadiusRows& take);
// The same of a graph, as graph_shard().
KITH_EXPORT Report radius_graph_shard(const MatrixView& shard, std::int64_t first_point, const MatrixView& queries,
                                      std::int64_t first_query, const Radius& r, const Options& options,
                                      const TakeRadiusRows& take);
// Only how many; those of all shards are their sum.
KITH_EXPORT RadiusCounts radius_shard_counts(const MatrixView& shard, const MatrixView& queries, const Radius& r,
                                             const Options& options = {});
KITH_EXPORT RadiusCounts radius_graph_shard_counts(const MatrixView& shard, std::int64_t first_point,
                                                   const MatrixView& queries, std::int64_t first_query, const Radius& r,
                                                   const Options& options = {});

// The same rows from every shard, merged: those of radius() of all points, with the distances that Options::metric
// reports, as f64 with Options::f64. The report is empty. Throws invalid_argument where the rows differ in number.
KITH_EXPORT RadiusNeighbors merge_radius(const std::vector<RadiusRows>& shards, std::int64_t dimensions,
                                         const Options& options = {});

}  // namespace kith
