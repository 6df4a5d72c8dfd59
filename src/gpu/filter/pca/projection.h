// The PCA projection of the fused filter's vectors: coordinates along the leading principal
// components (directions), plus the length of the remainder as one more coordinate
// (docs/proofs/pca.md, lemma 4). The result is a filter of far fewer dimensions, with values that
// are lower bounds of the full-dimensional ones.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <array>
#include <cstdint>

#include "exact/bounds/projection_error.h"
#include "gpu/filter/pca/further.h"
#include "gpu/metric/filter_form.h"
#include "gpu/primitives/products/product_digits.h"

namespace kith::gpu {

// Leading directions: an orthonormal set within the span of the columns, along which vectors are
// longest. They correct the int8 rounding error. The part of the error along them, times the other
// vector's coordinate, gets extra int8 columns: `fine` for the error, `coarse` for the coordinate,
// with fine * coarse = step^2. Each kappa is the typical ratio of the error that these columns
// leave to its factor.
struct LeadingDirections {
    static constexpr int most = 16, padding = 8;
    KITH_HD static std::int64_t padded(std::int64_t columns) {
        return (columns + padding - 1) / padding * padding;
    }
    int count = 0;
    // Device memory: `most` numbers for each column of P, then zeros up to padded() rows.
    const double* matrix = nullptr;
    double coarse = 0, fine = 0;
    double coarse_kappa = 0, fine_kappa = 0;
};

// int8 quantization of phi, instead of fp16, after a shift is subtracted (bytes.h). With all
// columns, phi is Q' v alone: the remainder of a pair's product is at most half the sum of both
// squares.
struct ByteForm {
    double step = 0;                // 0: phi is rounded to fp16
    const double* shift = nullptr;  // of each coordinate of phi; on the device
    double shift_norm = 0;
    double kappa = 0;  // typical ratio of a row's residual across the leading directions to its
                       // norm across them
    double error_kappa = 0x1p-20;  // typical ratio of the error of a row's coordinates to its norm
    LeadingDirections leading;
    explicit operator bool() const { return step > 0; }
};

// phi(v) = (Q' v, |v - Q Q' v| or slightly more) of the filter's own rounded vectors v. Q is the
// matrix of orthonormal columns nearest to P.
struct Directions {
    const DigitMatrix* matrix = nullptr;  // P: depth x all_columns(); null: phi(v) = v
    std::int64_t depth = 0, columns = 0;
    exact::ProjectionError error;
    FilterForm
        form;        // of phi(v): that of v, except for its width and the terms that follow from it
    ByteForm bytes;  // if set, `form.width` counts pairs of int8 values
    // Columns of the residual stages, after the projection's own; vectors have separate rows for
    // each stage.
    int stages = 0;
    FurtherColumns further[most_stages];

    // True if phi has the remainder as its last coordinate. Otherwise there are as many columns as
    // coordinates.
    KITH_HD bool leaves_some() const { return columns < depth; }
    // The number of coordinates of phi.
    KITH_HD std::int64_t coordinates() const { return columns + (leaves_some() ? 1 : 0); }
    KITH_HD std::int64_t all_columns() const { return columns_with(stages); }
    // The number of columns including those of the first `some` stages.
    KITH_HD std::int64_t columns_with(int some) const {
        return some > 0 ? further[some - 1].first + further[some - 1].count : columns;
    }
};

// Rows of each stage: FurtherColumns::row_bytes() bytes each for points, query_bytes() for queries.
using FurtherRows = std::array<char*, most_stages>;

// Halves per row of phi(v): a multiple of the fused filter's step.
inline std::int64_t projected_width(std::int64_t columns) {
    return (columns + 1 + 15) / 16 * 16;
}

// Projects n points: phi of their vectors, rounded; the half norms, lowered by the most that phi
// and its rounding add to a product; and the rows of each stage. Arrays have room for whole tiles.
// int8 projections and half norms are as bytes.h defines.
void project_points(const Directions& directions, const __half* vectors, std::int64_t n,
                    const float* half_norm, void* projected, float* projected_half_norm,
                    const FurtherRows& further, cudaStream_t stream);
// Projects q queries: phi, and the queries' share of that error. Also writes the rows of the first
// stages, up to the first stage with a null pointer in `further`.
void project_queries(const Directions& directions, const __half* vectors, std::int64_t q,
                     void* projected, float* error, const FurtherRows& further,
                     cudaStream_t stream);

// Coordinates along the columns of P, in rows `stride` apart, and an upper bound of their error per
// row, over all columns. Null if phi(v) = v.
struct Along {
    const double* coordinates = nullptr;
    const float* lost = nullptr;
    std::int64_t stride = 0;
};

// The rows of a stage for `count` vectors from `first` on, from their coordinates along all
// columns.
void further_rows(const Directions& directions, int stage, bool queries, const __half* vectors,
                  const Along& along, std::int64_t first, std::int64_t count, char* out,
                  cudaStream_t stream);

// Thresholds for values of phi. A pair with a full-dimensional value of at most threshold[i] has a
// projected value of at most out[i], which is an int for int8. If `overflowed` is not null, the
// queries that it marks pass no further pairs.
void projected_thresholds(const Directions& directions, const float* threshold, const float* error,
                          const std::uint8_t* overflowed, std::int64_t q, float* out,
                          cudaStream_t stream);

}  // namespace kith::gpu
