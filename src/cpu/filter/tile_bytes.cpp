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

// Four coordinates at a time, exactly: a point's are unsigned, a query's signed. What raising the points' adds is what
// the accumulators start with.
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
        return (F)_mm512_fnmadd_ps((__m512)(*query_scale - F{}), (__m512)(product * scale), (__m512)half_norm);
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
    const __m256i eight =
        _mm256_add_epi32(_mm512_maskz_extracti32x8_epi32(0xff, all, 0), _mm512_maskz_extracti32x8_epi32(0xff, all, 1));
    const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
    const __m128i two = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0xee));
    return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 0x55)));
}

constexpr ByteKernels bytes_of_target = byte_kernels_with(tiles_of<ByteStep>(), true);

}  // namespace

const ByteKernels& byte_kernel_table() {
    return bytes_of_target;
}

ByteProduct byte_product_of_target() {
    return byte_product;
}

}  // namespace kith::cpu::KITH_TARGET
KITH_TARGET_END
#endif
