// Rows of any element type as rows of binary64, for one instruction set.
#pragma once

#include <cstdint>

#include "cpu/simd/isa.h"
#include "kith/types.h"

namespace kith::cpu {

struct RowKernels {
    // `count` row-major rows of d elements, `stride` elements apart, as doubles `out_stride` apart.
    // nan[i] becomes 1 where row i holds a NaN.
    void (*widen)(const void* rows, ElementType type, std::int64_t stride, std::int64_t count,
                  std::int64_t d, double* out, std::int64_t out_stride, std::uint8_t* nan);
};

const RowKernels& row_kernels(Isa isa);

// The same for rows [first, first + count) of any view.
void widen_view(const RowKernels& kernels, const MatrixView& m, std::int64_t first,
                std::int64_t count, double* out, std::int64_t out_stride, std::uint8_t* nan);

}  // namespace kith::cpu
