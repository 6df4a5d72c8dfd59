// How long the vectors are that a matrix makes of those of length 1.
#pragma once

#include <cstdint>

#include "gpu/runtime/device_memory.h"

namespace kith::gpu {

// Of a symmetric matrix a spectral norm may be asked of; each entry within 2^-900 and 2^100, or 0.
inline constexpr std::int64_t most_spectral_columns = 4096;

// No less than the spectral norm of a symmetric matrix A of columns x columns, and of one within
// 2^-26 |A| of it: that of A^8, |A|^8, is at most its Frobenius norm. A is overwritten. Waits for
// the stream.
double spectral_norm(Buffer<double>& a, std::int64_t columns, cudaStream_t stream);

}  // namespace kith::gpu
