// Orthonormal columns on a device: what subspace iteration needs of linear algebra.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace kith::gpu {

// rows x columns of binary64, `stride` apart.
struct Columns {
    double* data;
    std::int64_t rows, columns, stride;
};

// Columns near the directions in which `count` rows of `depth` halves are longest, orthonormal but
// for rounding; the first of them are the directions of as many. A column that the ones before span
// becomes 0. The same bits at each call.
void find_directions(const __half* rows, std::int64_t count, const Columns& out,
                     cudaStream_t stream);

// Likewise the directions in which what `known` columns leave of the rows is longest: orthogonal to
// these, which are orthonormal but for rounding.
void find_further_directions(const __half* rows, std::int64_t count, const Columns& known,
                             const Columns& out, cudaStream_t stream);

// Orthonormal columns, but for rounding, as many as rows, along which vectors of other coordinates
// are about as long as along each other.
void find_rotation(const Columns& out, cudaStream_t stream);

// A' A: columns x columns, out.stride apart.
void gram(const Columns& a, const Columns& out, cudaStream_t stream);

// No less than the spectral norm of A' A - I as computed. Waits for the stream.
double defect(const Columns& a, cudaStream_t stream);

}  // namespace kith::gpu
