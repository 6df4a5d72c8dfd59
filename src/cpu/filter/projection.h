// The directions in which points differ most, and what these leave of a point as one coordinate
// more (docs/exactness.md, section 11).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "cpu/filter/bound.h"
#include "cpu/filter/tile.h"
#include "cpu/filter/tuning.h"
#include "cpu/primitives/buffer.h"
#include "exact/progress.h"
#include "exact/projection_error.h"
#include "metric/metric.h"

namespace kith::cpu {

// phi(v) = (Q' v, |v - Q Q' v|) for the d x m matrix Q of orthonormal columns nearest to the one
// that is kept: |phi(v)| = |v| and <u, v> <= <phi(u), phi(v)>. Which columns they are only decides
// how tight that is.
class Projection {
public:
    Projection() = default;
    // Up to `columns` directions in which `count` rows of d coordinates, `stride` apart, are long:
    // at most `count`. Polls `progress`, and is of no use once that is cancelled.
    Projection(const TileKernels& tiles, const double* rows, std::int64_t stride,
               std::int64_t count, std::int64_t d, std::int64_t columns, int threads,
               ProgressMeter& progress);

    // The first columns of it.
    Projection first(const TileKernels& tiles, std::int64_t columns, ProgressMeter& progress) const;

    std::int64_t columns() const { return columns_; }
    // Numbers that a row of coordinates() takes.
    std::int64_t room() const { return padded(columns_ + 1); }
    static std::int64_t padded(std::int64_t columns) {
        return (columns + row_multiple - 1) / row_multiple * row_multiple;
    }

    // Of `count` rows, `stride` apart, the coordinates along the columns, room() apart.
    void coordinates(const TileKernels& tiles, const double* rows, std::int64_t stride,
                     std::int64_t count, double* out) const;
    // Completes the coordinates of a row with |row|^2 = norm2 to phi(row). Returns how far they may
    // be from it.
    double complete(double norm2, double* coordinates) const;

private:
    // The widest vectors of the instruction sets, in binary64.
    static constexpr std::int64_t row_multiple = 8;
    // The columns, `stride` apart in `basis`.
    void set(const std::vector<double>& basis, std::int64_t stride, std::int64_t d);
    // error_, by |P'P - I| as computed and by what that rounds. The column sums bound it as the
    // Frobenius norm does, which is less than d of these vectors' products round.
    void measure(const TileKernels& tiles, const std::vector<double>& basis, std::int64_t stride,
                 ProgressMeter& progress);

    std::int64_t d_ = 0, columns_ = 0;
    Buffer<double> matrix_;  // d rows of room() numbers, the last of them 0
    exact::ProjectionError error_;
};

// A sample of points as the filter of that form takes them: `count` rows of d coordinates. `whole`:
// the rows behind the panels are whole numbers of 8 bits. `queries`: so many rows behind them are
// queries of the search; where there are none, some of the points are taken for queries.
struct FilterSample {
    metric::Gemm form;
    const double* rows;
    std::int64_t count, d;
    bool whole = false;
    std::int64_t queries = 0;

    std::int64_t all() const { return count + queries; }
    // Rows that a choice is tried with as queries, and the i-th of them.
    static constexpr std::int64_t most_tried = 16;
    std::int64_t tried() const { return queries > 0 ? queries : std::min(count, most_tried); }
    std::int64_t query(std::int64_t i) const {
        return queries > 0 ? count + i : i * count / tried();
    }
    // The point that such a row is: itself, or the first that equals a query, which may be among
    // the points; or -1.
    std::int64_t self(std::int64_t query) const {
        if (query < count) return query;
        for (std::int64_t i = 0; i < count; ++i)
            if (std::equal(rows + i * d, rows + (i + 1) * d, rows + query * d)) return i;
        return -1;
    }
};

// What filtering a pair takes along so many directions, in multiply-adds of a panel's coordinates.
double cost_of_directions(Isa isa, std::int64_t directions);
// Whether any choice of directions may save more than finding them takes. `whole`: of vectors of d
// whole numbers of 8 bits, which the instruction set has products of.
bool directions_may_pay(Isa isa, std::int64_t d, bool whole);

// The projection with which filtering the n points takes least, judged by the candidates that it
// leaves of the sample; none where it takes nearly as long as all coordinates do and is not wanted
// `always`. Polls `progress`.
std::optional<Projection> find_projection(Isa isa, const FilterSample& sample, std::int64_t n,
                                          bool always, int threads, ProgressMeter& progress);

// Whether panels of whole numbers of 8 bits, with that bound and those sums of the sample's rows,
// and rows of what they leave take less than panels of all coordinates.
bool bytes_pay(Isa isa, const FilterSample& sample, const FilterBound& bound,
               const std::vector<RowSums>& sums, std::int64_t n);

}  // namespace kith::cpu
