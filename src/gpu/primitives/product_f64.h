// Matrix products in binary64, by its matrix instructions.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace kith::gpu {

// A rows x depth matrix on the device: element (i, j) at i * row_stride + j * col_stride, where one
// of the two is 1.
template <class T>
struct Operand {
    const T* data;
    std::int64_t rows, depth, row_stride, col_stride;
};

// out = a b, rows x columns, out_stride apart; b: depth rows of `columns`, b_stride apart. Each
// element is a sum of `depth` products in some order, rounded to nearest at every step.
void product(const Operand<__half>& a, const double* b, std::int64_t b_stride, std::int64_t columns,
             double* out, std::int64_t out_stride, cudaStream_t stream);
void product(const Operand<double>& a, const double* b, std::int64_t b_stride, std::int64_t columns,
             double* out, std::int64_t out_stride, cudaStream_t stream);

}  // namespace kith::gpu
