// cuBLAS, loaded at the first product: the library starts and searches without it.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>
#include <vector>

namespace kith::gpu {

// C_i = alpha A_i B' for all i < count, column-major: A_i rows x inner, B columns x inner, C_i rows
// x columns. ..._column: elements from one column to the next; ..._next: from one matrix to the
// next.
struct ProductsF32 {
    std::int64_t rows = 0, columns = 0, inner = 0, count = 1;
    float alpha = 1;
    const float *a = nullptr, *b = nullptr;
    float* c = nullptr;
    std::int64_t a_column = 0, a_next = 0, b_column = 0, c_column = 0, c_next = 0;
};

// Enqueues the products on the current device, with a workspace of `workspace_bytes` bytes. Every
// product and every sum is in f32 (no TF32, no emulation), the sums in any order. Throws device if
// cuBLAS is not found, device or out_of_memory if it fails; products_absence() (papers/plan.h)
// tells beforehand.
void products_f32(const std::vector<ProductsF32>& products, std::int64_t workspace_bytes,
                  cudaStream_t stream);

}  // namespace kith::gpu
