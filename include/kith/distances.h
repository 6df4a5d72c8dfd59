// The full distance matrix, queries x points, with the canonical bits of a search.
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
    std::int64_t stride = 0;  // elements from row to row; 0: the number of points
    int device = host_memory;
};

struct Distances {
    std::int64_t queries = 0;
    std::int64_t points = 0;
    std::vector<float> values;     // queries x points; empty with Options::f64
    std::vector<double> values64;  // replaces `values` with Options::f64
    Report report;
};

// The distance of each query to each point, bit-identical to the one that search() reports for the pair on any device
// (scipy's cdist with its arguments exchanged). NaN if the point or the query has a NaN coordinate. points: n x d;
// queries: q x d; options: metric, f64, device (one), threads, memory (of the workspace), isa, stream, progress, path.
// A path is "", "exact", or a distance kernel on a GPU ("garcia"; docs/papers.md). Its distances are estimates in f32,
// NaN also for rows that f32 does not hold. Other paths, several devices, or a selector throw invalid_argument.
// Complexity: n q d steps of the metric in binary64; O(q n) memory for the result. Throws invalid_argument, device,
// out_of_memory, cancelled.
KITH_EXPORT Distances distances(const MatrixView& points, const MatrixView& queries, const Options& options = {});

// Likewise, into the caller's memory (host or device).
KITH_EXPORT Report distances_into(const MatrixView& points, const MatrixView& queries, const Options& options,
                                  const DistancesView& out);

// Likewise by blocks of whole rows, in order, for a matrix that need not fit in memory. take(first, count, rows)
// receives rows [first, first + count), count x n, dense, in host memory, valid until it returns. An exception of
// `take` ends the call and is rethrown. A block has at most 64 MiB (from a GPU 1 GiB), at most a quarter of the free
// memory, or one row.
KITH_EXPORT Report
distances_by_rows(const MatrixView& points, const MatrixView& queries, const Options& options,
                  const std::function<void(std::int64_t first, std::int64_t count, const void* rows)>& take);

}  // namespace kith
