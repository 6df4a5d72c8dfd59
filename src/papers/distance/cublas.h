// cuBLAS, loaded when a product first wants it: the library starts and searches without it.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>
#include <vector>

namespace kith::gpu {

// C_i = alpha A_i B' for all i < count, of matrices by columns: A_i rows x inner, B columns x
// inner, C_i rows x columns.
// ..._column: elements from a column to the next; ..._next: from a matrix to the next.
struct ProductsF32 {
    std::int64_t rows = 0, columns = 0, inner = 0, count = 1;
    float alpha = 1;
    const float *a = nullptr, *b = nullptr;
    float* c = nullptr;
    std::int64_t a_column = 0, a_next = 0, b_column = 0, c_column = 0, c_next = 0;
};

// Enqueues them on the current device, every product and every sum in f32 (no TF32, no emulation),
// the sums in any order; with a workspace of so many bytes. Throws device where cuBLAS is not
// found, or fails; products_absence() (papers/plan.h) says beforehand.
void products_f32(const std::vector<ProductsF32>& products, std::int64_t workspace_bytes,
                  cudaStream_t stream);

}  // namespace kith::gpu
