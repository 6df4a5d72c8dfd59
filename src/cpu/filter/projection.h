// PCA projection: leading principal components of the points, and the norm of the residual as one
// more coordinate (docs/proofs/pca.md, lemma 2).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "cpu/filter/bound.h"
#include "cpu/filter/tile/tile.h"
#include "cpu/primitives/buffer.h"
#include "cpu/tuning.h"
#include "exact/bounds/projection_error.h"
#include "exact/report/progress.h"
#include "metric/metric.h"

namespace kith::cpu {

// phi(v) = (Q' v, |v - Q Q' v|) for the d x m matrix Q of orthonormal columns nearest to the stored
// one: |phi(v)| = |v| and <u, v> <= <phi(u), phi(v)>. The choice of columns affects only how tight
// the bound is.
class Projection {
public:
    Projection() = default;
    // Fits up to min(`columns`, `count`) principal components to `count` rows of d coordinates,
    // `stride` apart. Polls `progress`; after a cancellation the object is unusable.
    Projection(const TileKernels& tiles, const double* rows, std::int64_t stride,
               std::int64_t count, std::int64_t d, std::int64_t columns, int threads,
               ProgressMeter& progress);

    // The projection onto the first `columns` components.
    Projection first(const TileKernels& tiles, std::int64_t columns, ProgressMeter& progress) const;

    std::int64_t columns() const { return columns_; }
    // Numbers per row of coordinates().
    std::int64_t room() const { return padded(columns_ + 1); }
    static std::int64_t padded(std::int64_t columns) {
        return (columns + row_multiple - 1) / row_multiple * row_multiple;
    }

    // Projects `count` rows, `stride` apart, onto the components. Rows of `out` are room() apart.
    void coordinates(const TileKernels& tiles, const double* rows, std::int64_t stride,
                     std::int64_t count, double* out) const;
    // Completes the coordinates of a row with |row|^2 = norm2 to phi(row). Returns a bound on their
    // distance from it.
    double complete(double norm2, double* coordinates) const;

private:
    // Lanes of the widest binary64 vectors of all instruction sets.
    static constexpr std::int64_t row_multiple = 8;
    // Sets the columns, which lie `stride` apart in `basis`.
    void set(const std::vector<double>& basis, std::int64_t stride, std::int64_t d);
    // Sets error_ from the computed |P'P - I| plus the rounding of that computation. Column sums
    // bound it, as the Frobenius norm does; the norm is less than d times the rounding of these
    // products.
    void measure(const TileKernels& tiles, const std::vector<double>& basis, std::int64_t stride,
                 ProgressMeter& progress);

    std::int64_t d_ = 0, columns_ = 0;
    Buffer<double> matrix_;  // d rows of room() numbers, zero-padded
    exact::ProjectionError error_;
};

// A sample of points in the filter's form: `count` rows of d coordinates. `whole`: candidates are
// rescored from 8-bit integers. `queries`: the number of the search's own queries stored after the
// points; if 0, some points serve as queries.
struct FilterSample {
    metric::Gemm form;
    const double* rows;
    std::int64_t count, d;
    bool whole = false;
    std::int64_t queries = 0;

    std::int64_t all() const { return count + queries; }
    // The number of rows that serve as trial queries, and the row of the i-th of them.
    static constexpr std::int64_t most_tried = 16;
    std::int64_t tried() const { return queries > 0 ? queries : std::min(count, most_tried); }
    std::int64_t query(std::int64_t i) const {
        return queries > 0 ? count + i : i * count / tried();
    }
    // The point that equals a trial query: the row itself, or the first equal point if the row is a
    // query of the search; -1 if none.
    std::int64_t self(std::int64_t query) const {
        if (query < count) return query;
        for (std::int64_t i = 0; i < count; ++i)
            if (std::equal(rows + i * d, rows + (i + 1) * d, rows + query * d)) return i;
        return -1;
    }
};

// Cost of filtering a pair with n components, in multiply-adds of a panel's coordinates.
double cost_of_directions(Isa isa, std::int64_t directions);
// True if any number of components may save more than fitting them costs. `whole`: the points are d
// 8-bit integers and the instruction set has int8 products.
bool directions_may_pay(Isa isa, std::int64_t d, bool whole);

// The projection that filters n points at the least estimated cost, judged by the candidates that
// it leaves in the sample. None where that cost is close to the full-dimensional one and `always`
// is false. Polls `progress`.
std::optional<Projection> find_projection(Isa isa, const FilterSample& sample, std::int64_t n,
                                          bool always, int threads, ProgressMeter& progress);

// True if int8 panels with this bound, plus rescoring, cost less than full-dimensional panels.
// `sums`: those of the sample's rows.
bool bytes_pay(Isa isa, const FilterSample& sample, const FilterBound& bound,
               const std::vector<RowSums>& sums, std::int64_t n);

}  // namespace kith::cpu
