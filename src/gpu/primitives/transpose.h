// Transposing a matrix on the device.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace kith::gpu {

// to (cols x rows, dense) = transposed `from`, whose rows of `cols` values lie `stride` apart.
template <class T>
void transpose(const T* from, std::int64_t stride, std::int64_t rows, std::int64_t cols, T* to,
               cudaStream_t stream);

}  // namespace kith::gpu
