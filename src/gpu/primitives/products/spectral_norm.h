// An upper bound of the spectral norm of a symmetric matrix.
#pragma once

#include <cstdint>

#include "gpu/runtime/memory/device_memory.h"

namespace kith::gpu {

// Limit of the columns of a symmetric matrix; each entry is 0 or has a magnitude between 2^-900 and
// 2^100.
inline constexpr std::int64_t most_spectral_columns = 4096;

// An upper bound of the spectral norm of a symmetric matrix A of columns x columns, and of any
// matrix within 2^-26 |A| of it. It uses that |A^8| = |A|^8 is at most the Frobenius norm of A^8. A
// is overwritten. Waits for the stream.
double spectral_norm(Buffer<double>& a, std::int64_t columns, cudaStream_t stream);

}  // namespace kith::gpu
