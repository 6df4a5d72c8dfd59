// The filter for a few queries: one pass over the points' own f32 rows, with nothing packed.
#pragma once

#include "cpu/filter/tile/tile.h"
#include "cpu/search/shortlist.h"

namespace kith::cpu {

// True for f32 rows and a metric that the filter serves, whose map() is the identity.
bool row_filter_serves(MetricId metric, ElementType type, std::int64_t d);
// Likewise; the queries must be f32, too.
bool row_filter_serves(const Points& points, const MatrixView& queries);

// SIMD lanes are coordinates. Metrics with a direct form are evaluated as such (see the direct
// forms in cpu/filter/bound.h). The others need products. With u the query scaled by a power of
// two, exactly, and s = |x|^2 from the same pass,
//   dot:     a = -<u, x>,           |a - w| <= g |u| |x|
//   cosine:  a = -<u, x> / sqrt(s), |a - w| <= 3 g |u|, a zero x being 0
// with g = (d + 4) 2^-24 for the f32 sums, and w = rank scale + offset (QueryTerms).
class RowFilter {
public:
    RowFilter(const Search& search, Shortlist& list, std::int64_t count);
    std::int64_t stride(std::int64_t) const { return 1; }
    // Evaluates points [32 g, 32 g + 32).
    void group(std::int64_t g);
    void follow() {}

private:
    const Search& search_;
    const Points& points_;
    Shortlist& list_;
    std::int64_t count_, d_;
    RowSweep sweep_;
    decltype(TileKernels::lower) lower_;
    metric::Gemm form_;
    double g_;
    float floor_;                // exceeds the length that squares lose to underflow
    std::vector<float> errors_;  // per query: error per unit of |x| (dot), or in all (cosine)
    Buffer<float> queries_;
};

}  // namespace kith::cpu
