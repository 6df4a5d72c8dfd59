// What becomes of a row before it is rounded: units, logarithms, a factor, less a centre and
// scaled.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/filter/bound.h"
#include "cpu/filter/tile.h"
#include "cpu/metric/distance_keys.h"
#include "exact/factor.h"
#include "metric/metric.h"

namespace kith::cpu {

// Of cross entropies: coordinates other than 0 whose quotients binary64 holds well.
inline constexpr double smallest_quotient = 0x1p-500, largest_quotient = 0x1p500;

// Rows have had the metric's map() applied and are changed in place; `false` and NaN say that the
// bound does not cover one. Neither centre nor scale affects an answer, only how tight the bound
// is.
struct RowForm {
    // The metric's form, and the one that the bound and the panels are of: l2 of cosine's unit
    // vectors where these have a common mean, dot of cross entropies. Of dot only points are
    // centred.
    metric::Gemm metric = metric::Gemm::none;
    metric::Gemm own = metric::Gemm::none;
    std::int64_t d = 0;
    std::vector<double> centre, zero;
    double scale = 1;
    exact::Factor factor;  // of a metric that has one

    bool factored() const { return !factor.values.empty(); }
    // What is subtracted after make_factored() or without one.
    const double* origin() const { return factored() ? zero.data() : centre.data(); }

    // Centre and scale of a product form, by a sample; that of dot stays 0 where it makes points
    // hardly shorter, or is not wanted. False where the points' norms are beyond those of the
    // bound.
    bool choose_centre(const MatrixView& points, const DistanceKeys& distance_keys,
                       const TileKernels& tiles, bool centre_dot = true);
    // Coordinates as the form takes them. `norm` is that of unit vectors before.
    bool make_unit(double* row, double& norm) const;
    // Of points; `zeros`: the coordinates that are 0.
    bool make_logarithms(const TileKernels& tiles, double* row,
                         std::vector<std::int64_t>& zeros) const;
    // The coordinates less the centre after the factor: what their share of the bound is beside
    // that of l2, NaN where they are not covered.
    double make_factored(const TileKernels& tiles, double* row) const;
    // All of it but the centre and the scale, of all forms but cross entropies. A row of 0 is at
    // cosine distance 1 of all unit vectors: beside that of its centred vector it has a half norm
    // of scale^2 / 2.
    bool make(const TileKernels& tiles, double* row, BesideSums& beside) const;
    // The same, and the vector that is rounded.
    bool make_vector(const TileKernels& tiles, double* row, double* vector,
                     BesideSums& beside) const;
};

}  // namespace kith::cpu
