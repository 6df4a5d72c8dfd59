// The filter for a few queries: one pass over the points' own f32 rows, nothing packed.
#pragma once

#include "cpu/filter/tile/tile.h"
#include "cpu/search/shortlist.h"

namespace kith::cpu {

// Up to here a pass over the rows costs less than packing them.

// f32 rows, and a metric whose map() is the identity.
bool row_filter_serves(MetricId metric, ElementType type, std::int64_t d);
// The same of queries as well.
bool row_filter_serves(const Points& points, const MatrixView& queries);

// Lanes are coordinates. Metrics with a direct form are evaluated as they are (the direct forms of
// cpu/filter/bound.h). The others need products: with u the query scaled by a power of two,
// exactly, and s = |x|^2 from the same pass,
//   dot:     a = -<u, x>,           |a - w| <= g |u| |x|
//   cosine:  a = -<u, x> / sqrt(s), |a - w| <= 3 g |u|, a zero x being 0
// for the f32 sums' g = (d + 4) 2^-24 and w the distance key less its offset over its scale.
class RowFilter {
public:
    RowFilter(const Search& search, Shortlist& list, std::int64_t count);
    std::int64_t stride(std::int64_t) const { return 1; }
    // Points [32 g, 32 g + 32).
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
    float floor_;                // more than squares can lose to underflow, as a length
    std::vector<float> errors_;  // of each query, per unit of |x| (dot) or in all (cosine)
    Buffer<float> queries_;
};

}  // namespace kith::cpu
