// Rows of any element type as rows of binary64, for one instruction set; the loops are written for
// the vectoriser.
#pragma once

#include "cpu/primitives/rows.h"
#include "cpu/simd/vector_ops-inl.h"
#include "exact/element.h"

namespace kith::cpu::KITH_TARGET {
namespace {

KITH_HD double to_double(float x) {
    return x;
}
KITH_HD double to_double(double x) {
    return x;
}
KITH_HD double to_double(float16 x) {
    return exact::half_to_float(x.bits);
}
KITH_HD double to_double(bfloat16 x) {
    return exact::bfloat_to_float(x.bits);
}
KITH_HD double to_double(std::int8_t x) {
    return x;
}
KITH_HD double to_double(std::uint8_t x) {
    return x;
}

template <class T>
void widen_rows(const T* rows, std::int64_t stride, std::int64_t count, std::int64_t d, double* out,
                std::int64_t out_stride, std::uint8_t* nan) {
    for (std::int64_t i = 0; i < count; ++i) {
        const T* __restrict__ in = rows + i * stride;
        double* __restrict__ to = out + i * out_stride;
        std::int64_t j = 0;
        std::int64_t bad = 0;
#if KITH_LEVEL > 0
        if constexpr (std::is_same_v<T, float16>) {
            for (; j + 8 <= d; j += 8) {
                const __m256 wide =
                    _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in + j)));
                const __m256d low = _mm256_cvtps_pd(_mm256_castps256_ps128(wide));
                const __m256d high = _mm256_cvtps_pd(_mm256_extractf128_ps(wide, 1));
                _mm256_storeu_pd(to + j, low);
                _mm256_storeu_pd(to + j + 4, high);
                bad |= _mm256_movemask_pd(_mm256_cmp_pd(low, low, _CMP_UNORD_Q)) |
                       _mm256_movemask_pd(_mm256_cmp_pd(high, high, _CMP_UNORD_Q));
            }
        }
#endif
        for (; j < d; ++j) {
            const double x = to_double(in[j]);
            to[j] = x;
            bad |= x != x;
        }
        nan[i] = bad != 0;
    }
}

void widen(const void* rows, ElementType type, std::int64_t stride, std::int64_t count,
           std::int64_t d, double* out, std::int64_t out_stride, std::uint8_t* nan) {
    const auto as = [&]<class T>(const T* typed) {
        widen_rows(typed, stride, count, d, out, out_stride, nan);
    };
    switch (type) {
        case ElementType::f32:
            return as(static_cast<const float*>(rows));
        case ElementType::f64:
            return as(static_cast<const double*>(rows));
        case ElementType::f16:
            return as(static_cast<const float16*>(rows));
        case ElementType::bf16:
            return as(static_cast<const bfloat16*>(rows));
        case ElementType::i8:
            return as(static_cast<const std::int8_t*>(rows));
        case ElementType::u8:
            return as(static_cast<const std::uint8_t*>(rows));
        default:
            return;
    }
}

constexpr RowKernels rows_of_target{widen};

}  // namespace

const RowKernels& row_kernel_table() {
    return rows_of_target;
}

}  // namespace kith::cpu::KITH_TARGET
