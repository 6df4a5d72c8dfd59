// Vectors of the fused filter along a few directions, and what these leave of a vector as one
// coordinate more (docs/exactness.md, section 11): a filter of far fewer coordinates, whose values
// bound those of all from below.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <array>
#include <cstdint>

#include "exact/projection_error.h"
#include "gpu/filter/further.h"
#include "gpu/metric/filter_form.h"
#include "gpu/primitives/product_digits.h"

namespace kith::gpu {

// Directions in which vectors are longest, of the span of the columns: what rounding to 8 bits
// leaves along these, times the other vector's coordinate, is a product of numbers of its own,
// `fine` and `coarse` apart, whose product is the square of the step. What these leave in turn,
// over what it is multiplied with, is typically one of the kappas.
struct LeadingDirections {
    static constexpr int most = 16, padding = 8;
    KITH_HD static std::int64_t padded(std::int64_t columns) {
        return (columns + padding - 1) / padding * padding;
    }
    int count = 0;
    // `most` numbers for each column of P, then zeros up to padded() rows; on the device.
    const double* matrix = nullptr;
    double coarse = 0, fine = 0;
    double coarse_kappa = 0, fine_kappa = 0;
};

// Numbers of 8 bits that phi is rounded to, instead of to fp16, after a shift is taken off
// (bytes.h). Of all coordinates phi is Q' v alone: what the directions leave of a pair's product is
// at most half of the sum of both squares.
struct ByteForm {
    double step = 0;                // 0: fp16 it is
    const double* shift = nullptr;  // of each coordinate of phi; on the device
    double shift_norm = 0;
    double kappa =
        0;  // typical residual of a row over its norm, of what leading directions leave of both
    double error_kappa = 0x1p-20;  // typical error of a row's coordinates over its norm
    LeadingDirections leading;
    explicit operator bool() const { return step > 0; }
};

// phi(v) = (Q' v, |v - Q Q' v| or some more) of the filter's own rounded vectors v, Q the matrix of
// orthonormal columns nearest to P.
struct Directions {
    const DigitMatrix* matrix = nullptr;  // P: depth x all_columns(); null: phi(v) = v
    std::int64_t depth = 0, columns = 0;
    exact::ProjectionError error;
    FilterForm form;  // of phi(v): as that of v, but for its width and what follows from it
    ByteForm bytes;   // where it says so, `form.width` counts pairs of numbers
    // Columns behind these, stage after stage, of which a vector has rows of their own.
    int stages = 0;
    FurtherColumns further[most_stages];

    // Whether phi has what the columns leave as its last coordinate; else there are as many columns
    // as coordinates.
    KITH_HD bool leaves_some() const { return columns < depth; }
    // Coordinates of phi.
    KITH_HD std::int64_t coordinates() const { return columns + (leaves_some() ? 1 : 0); }
    KITH_HD std::int64_t all_columns() const { return columns_with(stages); }
    // With those of the first so many stages.
    KITH_HD std::int64_t columns_with(int some) const {
        return some > 0 ? further[some - 1].first + further[some - 1].count : columns;
    }
};

// Rows of each stage, FurtherColumns::row_bytes() each, of queries query_bytes().
using FurtherRows = std::array<char*, most_stages>;

// Halves of a row of phi(v): a multiple of what the fused filter multiplies at a time.
inline std::int64_t projected_width(std::int64_t columns) {
    return (columns + 1 + 15) / 16 * 16;
}

// Of n points: phi of their vectors, rounded, and the half norms less what phi and its rounding may
// add to a product: with room for whole tiles. Of bytes both are what bytes.h says. And their rows
// of each stage.
void project_points(const Directions& directions, const __half* vectors, std::int64_t n,
                    const float* half_norm, void* projected, float* projected_half_norm,
                    const FurtherRows& further, cudaStream_t stream);
// Of q queries: phi, and the queries' share of that error; and their rows of the first stages, up
// to one for which `further` has null.
void project_queries(const Directions& directions, const __half* vectors, std::int64_t q,
                     void* projected, float* error, const FurtherRows& further,
                     cudaStream_t stream);

// Coordinates along the columns of P, rows `stride` apart, and how far from them all together may
// be; null where phi(v) = v.
struct Along {
    const double* coordinates = nullptr;
    const float* lost = nullptr;
    std::int64_t stride = 0;
};

// The rows of a stage, of `count` vectors from `first` on whose coordinates along all columns are
// known.
void further_rows(const Directions& directions, int stage, bool queries, const __half* vectors,
                  const Along& along, std::int64_t first, std::int64_t count, char* out,
                  cudaStream_t stream);

// Thresholds for values of phi: a pair whose value by all coordinates is at most threshold[i] has
// one of at most out[i], of bytes an int. Where `overflowed` is not null, of queries that it names
// none passes any more.
void projected_thresholds(const Directions& directions, const float* threshold, const float* error,
                          const std::uint8_t* overflowed, std::int64_t q, float* out,
                          cudaStream_t stream);

}  // namespace kith::gpu
