// Orthonormal columns on a device: the linear algebra of subspace iteration (PCA).
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

// The leading principal components (uncentred) of `count` rows of `depth` halves, approximately, as
// columns that are orthonormal up to rounding. The first m of them approximate the leading m
// components. A column in the span of previous ones becomes 0. Every call returns the same bits.
void find_directions(const __half* rows, std::int64_t count, const Columns& out,
                     cudaStream_t stream);

// Likewise, the leading components of the residual that the `known` columns leave of the rows. They
// are orthogonal to the known columns, which are orthonormal up to rounding.
void find_further_directions(const __half* rows, std::int64_t count, const Columns& known,
                             const Columns& out, cudaStream_t stream);

// A rotation: as many orthonormal columns (up to rounding) as rows. Vectors have similar lengths
// along all of them, also if their coordinates differ in size.
void find_rotation(const Columns& out, cudaStream_t stream);

// A' A: columns x columns, out.stride apart.
void gram(const Columns& a, const Columns& out, cudaStream_t stream);

// An upper bound of the spectral norm of the computed A' A - I. Waits for the stream.
double defect(const Columns& a, cudaStream_t stream);

}  // namespace kith::gpu
