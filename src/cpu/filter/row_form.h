// Transforms a row before it is rounded: normalisation, logarithms, a metric's matrix factor,
// centring and scaling.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/filter/bound.h"
#include "cpu/filter/tile/tile.h"
#include "cpu/metric/distance_keys.h"
#include "exact/linear/factor.h"
#include "metric/metric.h"

namespace kith::cpu {

// Cross entropies: range of nonzero coordinates that keep quotients within binary64's range.
inline constexpr double smallest_quotient = 0x1p-500, largest_quotient = 0x1p500;

// Rows have had the metric's map() applied and are changed in place. A result of `false` or NaN
// means that the bound does not cover the row. Centre and scale never affect an answer, only how
// tight the bound is.
struct RowForm {
    // `metric`: the metric's form. `own`: the form of the bound and the panels. own is l2 for
    // cosine's unit vectors with a common mean, and dot for cross entropies. In the dot form only
    // points are centred.
    metric::Gemm metric = metric::Gemm::none;
    metric::Gemm own = metric::Gemm::none;
    std::int64_t d = 0;
    std::vector<double> centre, zero;
    double scale = 1;
    exact::Factor factor;  // of a metric that has one

    bool factored() const { return !factor.values.empty(); }
    // The vector to subtract; zero if make_factored() has subtracted the centre.
    const double* origin() const { return factored() ? zero.data() : centre.data(); }

    // Chooses centre and scale of a product form from a sample. A dot form's centre stays 0 where
    // centring hardly shortens the points or `centre_dot` is false. Returns false if the points'
    // norms exceed the bound's range.
    bool choose_centre(const MatrixView& points, const DistanceKeys& distance_keys,
                       const TileKernels& tiles, bool centre_dot = true);
    // Normalises the row; `norm` is its norm before.
    bool make_unit(double* row, double& norm) const;
    // Points only. Replaces coordinates by logarithms; `zeros` lists the coordinates that are 0.
    bool make_logarithms(const TileKernels& tiles, double* row,
                         std::vector<std::int64_t>& zeros) const;
    // Subtracts the centre and multiplies by the factor. Returns the row's share of the bound in
    // addition to that of l2; NaN if the row is not covered.
    double make_factored(const TileKernels& tiles, double* row) const;
    // Everything except centring and scaling, for all forms but cross entropies. A zero row is at
    // cosine distance 1 from all unit vectors: its half norm exceeds that of its centred vector by
    // scale^2 / 2.
    bool make(const TileKernels& tiles, double* row, BesideSums& beside) const;
    // make(), and the centred and scaled vector to be rounded.
    bool make_vector(const TileKernels& tiles, double* row, double* vector,
                     BesideSums& beside) const;
};

}  // namespace kith::cpu
