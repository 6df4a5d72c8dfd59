// Products of halves with a matrix of binary64, made of products of whole numbers of 8 bits, which
// the matrix units add exactly: Ozaki, Ogita, Oishi & Rump, "Error-free transformations of matrix
// multiplication by using fast routines of matrix multiplication and its applications" (Numerical
// Algorithms 59, 2012), cut off where a bound is enough.
//
// A matrix P is what three digits of 8 bits make of it, P = P1 + P2 + P3 = u (2^16 p1 + 2^8 p2 +
// p3), its unit u a power of two. So is a row v = v1 + v2 + v3 + l, with a unit of its own and what
// is lost, l. Of v P six products are added, v1 P1 + v1 P2 + v2 P1 + v1 P3 + v2 P2 + v3 P1: whole
// numbers that 32 bits hold, and binary64 their sum. What is left out, v2 P3 + v3 (P2 + P3) + l P,
// is no longer than
//
//     |v2| |P3| + |v3| (|P2| + |P3|) + |l| |P|
//
// where |A| of a matrix is its spectral norm: |A|^16 is at most the Frobenius norm of (A'A)^8. All
// lengths are measured.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "gpu/runtime/device_memory.h"

namespace kith::gpu {

// Rows may be so long, such that 32 bits hold the sums of three products, and a matrix have so many
// columns.
inline constexpr std::int64_t most_digit_depth = 24 * 1024, most_digit_columns = 4096;
static_assert(3 * most_digit_depth << 14 < std::int64_t{1} << 31);

// No less than the lengths |P|, |P2| and |P3| of matrices.
struct DigitNorms {
    double all = 0, second = 0, third = 0;
};

// The digits of a matrix: 3 bytes for each of its numbers, and for those that fill up columns to a
// multiple of 64 and columns to one of 96.
class DigitMatrix {
public:
    DigitMatrix() = default;
    // Of depth x columns finite numbers, rows `stride` apart, the largest 0 or between 2^-900 and
    // 2^900. They become the numbers that the digits make, at most half a unit away. Needs matrices
    // of binary64 for a while, one of depth x columns and two of columns x columns; waits for the
    // stream.
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

// Which matrix instructions multiply: those of the device, mma.sync (compute capability 8.0 and
// later), wgmma (9.0).
enum class DigitInstructions { any, sm_80, sm_90a };

// out = V P of the first so many columns, count x columns, out_stride apart; V: `count` rows of
// b.depth() halves, a multiple of 16, one behind the other from an address that is a multiple
// of 16. The same bits at each call. lost[i]: no less than the length of what row i of `out` is
// away from that of V P, all columns together; of a row that is not finite it is infinite, and
// `out` has zeros. Needs 3 bytes for each half for a while.
void product(const __half* rows, std::int64_t count, const DigitMatrix& b, std::int64_t columns,
             double* out, std::int64_t out_stride, float* lost, cudaStream_t stream,
             DigitInstructions instructions = DigitInstructions::any);

}  // namespace kith::gpu
