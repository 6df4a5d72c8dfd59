// The distances themselves: the queries x points matrix that a search looks through, in canonical bits.
//
//     kith::Distances m = kith::distances(kith::view(points.data(), n, d), kith::view(queries.data(), q, d));
//     m.values[i * n + j];   // of query i and point j: what a search that finds point j reports
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "kith/export.h"
#include "kith/types.h"

namespace kith {

// A matrix in the caller's memory: one row per query, one column per point, of f64 with Options::f64, else of f32.
struct DistancesView {
    void* data = nullptr;
    std::int64_t stride = 0;  // elements from row to row; 0: as many as points
    int device = host_memory;
};

struct Distances {
    std::int64_t queries = 0;
    std::int64_t points = 0;
    std::vector<float> values;     // queries x points; empty with Options::f64
    std::vector<double> values64;  // the same with Options::f64
    Report report;
};

// The distance of each query to each point, to the last bit the one that search() reports of that pair on any device
// (scipy's cdist, with its arguments exchanged). NaN where the point or the query has a NaN coordinate.
//   points   n x d, queries q x d: as search() takes them.
//   options  metric, f64, device (one), threads, memory (of the workspace), isa, stream, progress. A path other than ""
//            and "exact", several devices and a selector are invalid_argument.
// Complexity: n q d steps of the metric in binary64; O(q n) memory for the result.
// Throws invalid_argument, device, out_of_memory, cancelled.
KITH_EXPORT Distances distances(const MatrixView& points, const MatrixView& queries, const Options& options = {});

// The same, into the caller's memory (host or device).
KITH_EXPORT Report distances_into(const MatrixView& points, const MatrixView& queries, const Options& options,
                                  const DistancesView& out);

// The same by blocks of whole rows, in order, for a matrix that need not fit into memory: take(first, count, rows) is
// given rows [first, first + count), count x n, dense, on the host, until it returns; what it throws ends the call.
// Blocks are of at
// most 64 MiB, of a GPU 1 GiB and a quarter of what is free, or one row.
KITH_EXPORT Report
distances_by_rows(const MatrixView& points, const MatrixView& queries, const Options& options,
                  const std::function<void(std::int64_t first, std::int64_t count, const void* rows)>& take);

}  // namespace kith
