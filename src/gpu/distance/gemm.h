// The matrix product of a filter tile, through cuBLAS.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace kith::gpu {

// out[i * ld + j] = -<queries[i], points[j]>, f32 in and out, all row-major with `width` columns (a multiple of 4,
// 16-byte aligned). tf32: multiply in TF32 (operands already rounded to it), else in f32.
void multiply(const float* queries, std::int64_t q, const float* points, std::int64_t n, std::int64_t width, float* out,
              std::int64_t ld, bool tf32, cudaStream_t stream);

}  // namespace kith::gpu
