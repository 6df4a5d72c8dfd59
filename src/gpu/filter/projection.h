// Vectors of the fused filter along a few directions, and what these leave of a vector as one coordinate more
// (docs/exactness.md, section 11): a filter of far fewer coordinates, whose values bound those of all from below.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "exact/projection_error.h"
#include "gpu/metric/filter_form.h"

namespace kith::gpu {

// phi(v) = (Q' v, |v - Q Q' v|) of the filter's own rounded vectors v, Q the matrix of orthonormal columns nearest to
// P.
struct Directions {
    const double* matrix = nullptr;  // P on the device: depth rows of `columns`, `stride` apart
    std::int64_t depth = 0, columns = 0, stride = 0;
    exact::ProjectionError error;
    FilterForm form;  // of phi(v): as that of v, but for its width and what follows from it
};

// Halves of a row of phi(v): a multiple of what the fused filter multiplies at a time.
inline std::int64_t projected_width(std::int64_t columns) {
    return (columns + 1 + 15) / 16 * 16;
}

// Of n points by position: phi of their vectors (rows of form.width halves), rounded, and the half norms less what phi
// and its rounding may add to a product: with room for whole tiles.
void project_points(const Directions& directions, const __half* vectors, const float* half_norm, std::int64_t n,
                    __half* projected, float* projected_half_norm, cudaStream_t stream);
// Of q queries: phi, and the queries' share of that error.
void project_queries(const Directions& directions, const __half* vectors, std::int64_t q, __half* projected,
                     float* error, cudaStream_t stream);

// Thresholds for values of phi: a pair whose value by all coordinates is at most threshold[i] has one of at most
// out[i].
void projected_thresholds(const float* threshold, const float* error, std::int64_t q, float* out, cudaStream_t stream);

}  // namespace kith::gpu
