// The filter's tiles for whole numbers of 8 bits: avx512 with AVX512_VNNI.
#if defined(__x86_64__)
#define KITH_LEVEL 2
#define KITH_VNNI
#include "cpu/simd/target-inl.h"
// After the target: every function from here on is compiled for it.
#include "cpu/filter/byte_rows-inl.h"
#include "cpu/filter/tile_loop-inl.h"

namespace kith::cpu::KITH_TARGET {
namespace {

// Four coordinates at a time, exactly: a point's are unsigned, a query's signed. What raising the
// points' adds is what the accumulators start with.
struct ByteStep {
    static constexpr int queries = 14, query_header = 2;
    using Acc = F;  // 16 whole numbers
    KITH_HD static F broadcast(const float* q) {
        int word;
        std::memcpy(&word, q, sizeof word);
        return (F)_mm512_set1_epi32(word);
    }
    KITH_HD static Acc start(const float* q) { return broadcast(q); }
    KITH_HD static Acc step(Acc acc, F q, F x) {
        // Of the intrinsic gcc 12 makes a copy of every accumulator in memory.
        __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(x), "v"(q));
        return acc;
    }
    KITH_HD static F finish(Acc acc, F half_norm, F scale, const float* query_scale) {
        const F product = (F)_mm512_maskz_cvtepi32_ps(0xffff, (__m512i)acc);
        return (F)_mm512_fnmadd_ps((__m512)(*query_scale - F{}), (__m512)(product * scale),
                                   (__m512)half_norm);
    }
};

std::int32_t byte_product(const std::uint8_t* x, const std::int8_t* q, std::int64_t count) {
    static_assert(product_bytes == 4 * vector_points);
    // Chains hide the latency of the sums.
    constexpr int chains = 4;
    F sum[chains] = {};
    const auto step = [&](int c, std::int64_t j) __attribute__((always_inline)) {
        sum[c] = ByteStep::step(sum[c], (F)_mm512_loadu_si512(q + j), (F)_mm512_loadu_si512(x + j));
    };
    std::int64_t j = 0;
    for (; j + chains * product_bytes <= count; j += chains * product_bytes) {
#pragma GCC unroll 4
        for (int c = 0; c < chains; ++c) step(c, j + c * product_bytes);
    }
    for (; j < count; j += product_bytes) step(0, j);
    const __m512i all = _mm512_add_epi32(_mm512_add_epi32((__m512i)sum[0], (__m512i)sum[1]),
                                         _mm512_add_epi32((__m512i)sum[2], (__m512i)sum[3]));
    const __m256i eight = _mm256_add_epi32(_mm512_maskz_extracti32x8_epi32(0xff, all, 0),
                                           _mm512_maskz_extracti32x8_epi32(0xff, all, 1));
    const __m128i four =
        _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
    const __m128i two = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0xee));
    return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 0x55)));
}

RowSums round_shorts(const double* in, std::int64_t d, float* out, float& scale) {
    // The number behind the last is 0.
    if (d % 2) out[d / 2] = 0;
    const auto most = static_cast<double>(largest_short(d));
    scale = scale_of(in, d, most);
    return round_scaled(in, static_cast<double>(scale), -most, most, d,
                        reinterpret_cast<std::int16_t*>(out));
}

float short_value(const float* q, const float* x, std::int64_t words, float query_scale,
                  float scale, float half_norm) {
    constexpr int chains = 4;
    constexpr std::int64_t width = chains * vector_points;
    F sum[chains] = {};
    const auto step = [&](int c, F of_query, F of_point) __attribute__((always_inline)) {
        __asm__("vpdpwssd %2, %1, %0" : "+v"(sum[c]) : "v"(of_point), "v"(of_query));
    };
    std::int64_t j = 0;
    for (; j + width <= words; j += width) {
#pragma GCC unroll 4
        for (int c = 0; c < chains; ++c)
            step(c, Single::load(q + j + c * vector_points),
                 Single::load(x + j + c * vector_points));
    }
    for (; j + vector_points <= words; j += vector_points)
        step(0, Single::load(q + j), Single::load(x + j));
    if (const auto rest = static_cast<int>(words - j))
        step(1, Single::load_part(q + j, rest), Single::load_part(x + j, rest));
    const __m512i all = _mm512_add_epi32(_mm512_add_epi32((__m512i)sum[0], (__m512i)sum[1]),
                                         _mm512_add_epi32((__m512i)sum[2], (__m512i)sum[3]));
    // The lanes' sum is within 2^35, which binary64 holds.
    const __m512d eight = _mm512_add_pd(
        _mm512_maskz_cvtepi32_pd(0xff, _mm512_maskz_extracti32x8_epi32(0xff, all, 0)),
        _mm512_maskz_cvtepi32_pd(0xff, _mm512_maskz_extracti32x8_epi32(0xff, all, 1)));
    const __m256d four = _mm256_add_pd(_mm512_maskz_extractf64x4_pd(0xff, eight, 0),
                                       _mm512_maskz_extractf64x4_pd(0xff, eight, 1));
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
    const auto product =
        static_cast<float>(_mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two))));
    return __builtin_fmaf(-query_scale, scale * product, half_norm);
}

constexpr ShortKernels shorts_of_target{round_shorts, short_value};
constexpr ByteKernels bytes_of_target = byte_kernels_with(tiles_of<ByteStep>(), true);

}  // namespace

const ByteKernels& byte_kernel_table() {
    return bytes_of_target;
}

const ShortKernels& short_kernel_table() {
    return shorts_of_target;
}

ByteProduct byte_product_of_target() {
    return byte_product;
}

}  // namespace kith::cpu::KITH_TARGET
KITH_TARGET_END
#endif
