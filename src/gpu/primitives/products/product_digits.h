// Products of fp16 rows with a binary64 matrix from int8 products, which the tensor cores add
// exactly: Ozaki, Ogita, Oishi & Rump, "Error-free transformations of matrix multiplication by
// using fast routines of matrix multiplication and its applications" (Numerical Algorithms 59,
// 2012), truncated where a bound is enough.
//
// A matrix P is split into three int8 digits, P = P1 + P2 + P3 = u (2^16 p1 + 2^8 p2 + p3), with a
// unit u that is a power of two. A row is split likewise, v = v1 + v2 + v3 + l, with its own unit
// and a residual l. Six products approximate v P: v1 P1 + v1 P2 + v2 P1 + v1 P3 + v2 P2 + v3 P1.
// They are integers that fit 32 bits, and their sum fits binary64. The omitted part, v2 P3 + v3 (P2
// + P3) + l P, is no longer than
//
//     |v2| |P3| + |v3| (|P2| + |P3|) + |l| |P|
//
// where |A| of a matrix is its spectral norm: |A|^16 is at most the Frobenius norm of (A'A)^8. All
// lengths are measured.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "gpu/runtime/memory/device_memory.h"

namespace kith::gpu {

// Limits of a row's length, such that 32 bits hold the sums of three products, and of a matrix's
// columns.
inline constexpr std::int64_t most_digit_depth = 24 * 1024, most_digit_columns = 4096;
static_assert(3 * most_digit_depth << 14 < std::int64_t{1} << 31);

// Upper bounds of the spectral norms |P|, |P2| and |P3|.
struct DigitNorms {
    double all = 0, second = 0, third = 0;
};

// The digits of a matrix: 3 bytes per number. The depth is padded to a multiple of 64, the columns
// to one of 96.
class DigitMatrix {
public:
    DigitMatrix() = default;
    // `matrix`: depth x columns finite numbers, rows `stride` apart, the largest magnitude 0 or
    // between 2^-900 and 2^900. It is overwritten by the numbers that the digits represent, at most
    // half a unit away. Allocates temporary binary64 matrices: one of depth x columns, two of
    // columns x columns. Waits for the stream.
    DigitMatrix(double* matrix, std::int64_t depth, std::int64_t columns, std::int64_t stride,
                cudaStream_t stream);

    std::int64_t depth() const { return depth_; }
    std::int64_t columns() const { return columns_; }
    double unit() const { return unit_; }
    const DigitNorms& norms() const { return norms_; }
    const std::int8_t* panels() const { return panels_.get(); }

private:
    std::int64_t depth_ = 0, columns_ = 0;
    double unit_ = 1;
    DigitNorms norms_;
    Buffer<std::int8_t> panels_;
};

// The matrix instructions to use: the device's best, mma.sync (compute capability 8.0 and later),
// wgmma (9.0).
enum class DigitInstructions { any, sm_80, sm_90a };

// out = V P for the first `columns` columns: count x columns, rows out_stride apart. V: `count`
// dense rows of b.depth() halves, a multiple of 16, at an address that is a multiple of 16. Each
// call gives the same bits.
//
// lost[i] bounds the length of the error of row i of `out`, over all columns together. If row i is
// not finite, lost[i] is infinite and `out` has zeros. Temporarily needs 3 bytes per half.
void product(const __half* rows, std::int64_t count, const DigitMatrix& b, std::int64_t columns,
             double* out, std::int64_t out_stride, float* lost, cudaStream_t stream,
             DigitInstructions instructions = DigitInstructions::any);

}  // namespace kith::gpu
