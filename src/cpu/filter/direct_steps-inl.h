// Steps of the direct forms for one instruction set: what each coordinate adds to a pair's
// accumulators. docs/proofs/direct.md bounds the errors of exactly these operations, fused or not.
#pragma once

#include "cpu/filter/tile/tile_loop-inl.h"

namespace kith::cpu::KITH_TARGET {
namespace {

using Words = Single::M;
typedef std::uint32_t Unsigned __attribute__((vector_size(vector_bytes)));

// a * b + c, fused where the instruction set has FMA.
KITH_HD F multiply_add(F a, F b, F c) {
#if KITH_LEVEL > 0
    return Single::fma(a, b, c);
#else
    return a * b + c;
#endif
}

// 1 / x within a relative 1.5 x 2^-12 for 2^-100 <= x <= 2^102: the error that every x86 processor
// guarantees for RCPPS.
KITH_HD F reciprocal(F x) {
#if KITH_LEVEL == 2
    return (F)_mm512_maskz_rcp14_ps(0xffff, (__m512)x);
#elif KITH_LEVEL == 1
    return (F)_mm256_rcp_ps((__m256)x);
#elif defined(__x86_64__)
    return (F)_mm_rcp_ps((__m128)x);
#else
    return 1.0f / x;
#endif
}

template <std::size_t terms>
KITH_HD F polynomial(const float (&c)[terms], F x) {
    F p = Single::set(static_cast<double>(c[terms - 1]));
#pragma GCC unroll 8
    for (int i = static_cast<int>(terms) - 2; i >= 0; --i)
        p = multiply_add(p, x, Single::set(static_cast<double>(c[i])));
    return p;
}

struct CityblockStep : FloatQueries {
    static constexpr int queries = KITH_LEVEL == 2 ? 12 : 4;
    KITH_HD static F step(F acc, F q, F x) { return acc + Single::abs(q - x); }
};

struct ChebyshevStep : FloatQueries {
    static constexpr int queries = KITH_LEVEL == 2 ? 12 : 4;
    KITH_HD static F step(F acc, F q, F x) { return Single::max(acc, Single::abs(q - x)); }
};

struct SquareStep : FloatQueries {
    static constexpr int queries = KITH_LEVEL == 2 ? 12 : 4;
    KITH_HD static F step(F acc, F q, F x) { return multiply_add(q - x, q - x, acc); }
};

struct CubeStep : FloatQueries {
    static constexpr int queries = KITH_LEVEL == 2 ? 12 : 4;
    KITH_HD static F step(F acc, F q, F x) {
        const F t = Single::abs(q - x);
        return multiply_add(t * t, t, acc);
    }
};

struct FourthStep : FloatQueries {
    static constexpr int queries = KITH_LEVEL == 2 ? 12 : 4;
    KITH_HD static F step(F acc, F q, F x) {
        const F t = q - x, square = t * t;
        return multiply_add(square, square, acc);
    }
};

// |q - x|^p for any p >= 1 as 2^(p log2 |q - x|), within a relative p 2^-17 + 2^-15 and an absolute
// 2^-124; +inf from 2^128 on, and of NaN.
struct PowerStep : FloatQueries {
    static constexpr int queries = KITH_LEVEL == 2 ? 8 : 4;
    F exponent, lowest;
    KITH_HD explicit PowerStep(float p)
        : exponent(p - F{}), lowest(Single::set(std::exp2(-125.0 / static_cast<double>(p)))) {}

    KITH_HD F power(F t) const {
        // (log2 (1 + f)) / f within 2^-18.79 / f, and 2^(r + 1/2) within a relative 2^-18.5
        // (minimax).
        constexpr float log[] = {0x1.7155a6p+0f,  -0x1.71380cp-1f, 0x1.eadb8ap-2f,
                                 -0x1.7852c8p-2f, 0x1.49e250p-2f,  -0x1.a7167ep-3f};
        constexpr float exp[] = {0x1.6a09d4p+0f, 0x1.f5dfb4p-1f, 0x1.5bea94p-2f, 0x1.43e922p-4f,
                                 0x1.bb62eep-7f};
        // t = 2^e (1 + f) with 1 + f from the root of 1/2 to that of 2.
        const Words bits = (Words)Single::max(t, lowest);
        const Words e = (bits - 0x3f3504f3) >> 23;
        const F f = (F)(bits - (e << 23)) - 1.0f;
        const F logarithm = multiply_add(f, polynomial(log, f), __builtin_convertvector(e, F));
        // 2^128 and above become infinity, which is y = 127.5 here: it rounds to 128.
        const F y = multiply_add(exponent, logarithm, Single::set(-0.5)), most = Single::set(127.5);
        const F clipped = y < most ? y : most;
        const F shifted = clipped + 0x1.8p23f;
        const F scale = (F)(((Words)shifted << 23) + (127 << 23));
        return polynomial(exp, clipped - (shifted - 0x1.8p23f)) * scale;
    }
    KITH_HD F step(F acc, F q, F x) const { return acc + power(Single::abs(q - x)); }
};

// Coordinates other than 0 are within 2^-100 ... 2^100.
struct QuotientsStep : FloatQueries {
    static constexpr int queries = KITH_LEVEL == 2 ? 12 : 4;
    KITH_HD static F step(F acc, F q, F x) {
        const F size = Single::max(Single::abs(q) + Single::abs(x), Single::set(0x1p-100));
        return multiply_add(Single::abs(q - x), reciprocal(size), acc);
    }
};

struct QuotientStep : FloatQueries {
    static constexpr int queries = KITH_LEVEL == 2 ? 8 : 4;
    struct Acc {
        F differences, sums;
    };
    KITH_HD static Acc start(F half_norm) { return {half_norm, F{}}; }
    KITH_HD static Acc step(Acc acc, F q, F x) {
        return {acc.differences + Single::abs(q - x), acc.sums + Single::abs(q + x)};
    }
    // 0 / 0 is 0; a difference over a sum of 0 is +inf, as the key is.
    KITH_HD static F finish(Acc acc, F) {
        return acc.differences / (acc.differences == F{} ? Single::set(1.0) : acc.sums);
    }
};

struct MismatchStep : FloatQueries {
    static constexpr int queries = KITH_LEVEL == 2 ? 12 : 4;
    KITH_HD static F step(F acc, F q, F x) { return acc + (F)((q != x) & (Words)Single::set(1.0)); }
};

// The sum of the four bytes, each at most 127, of every word.
KITH_HD Words sum_of_bytes(Words v) {
#if KITH_LEVEL == 2
    const __m512i pairs = _mm512_maddubs_epi16((__m512i)v, _mm512_set1_epi8(1));
    return (Words)_mm512_madd_epi16(pairs, _mm512_set1_epi16(1));
#elif KITH_LEVEL == 1
    const __m256i pairs = _mm256_maddubs_epi16((__m256i)v, _mm256_set1_epi8(1));
    return (Words)_mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
#else
    const Words pairs = (v & 0x00ff00ff) + ((v >> 8) & 0x00ff00ff);
    return (pairs + (pairs >> 16)) & 0xffff;
#endif
}

// A word holds four bytes. Counts are integers; finish() adds them to a half norm of 0, +inf or
// NaN.
struct CountStep {
    static constexpr int queries = KITH_LEVEL == 2 ? 8 : 4;
    using Acc = Words;
    KITH_HD static F broadcast(const float* q) {
        std::int32_t word;
        std::memcpy(&word, q, sizeof word);
        return (F)(word - Words{});
    }
    KITH_HD static Acc start(F) { return Words{}; }
    KITH_HD static F finish(Acc count, F half_norm) {
        return __builtin_convertvector(count, F) + half_norm;
    }
};

struct ByteStep : CountStep {
    KITH_HD static Acc step(Acc count, F q, F x) {
        const auto differ = (Unsigned)q ^ (Unsigned)x;
        // 1 for every nonzero byte.
        const Unsigned ones =
            ((((differ & 0x7f7f7f7fu) + 0x7f7f7f7fu) | differ) >> 7) & 0x01010101u;
        return count + sum_of_bytes((Words)ones);
    }
};

KITH_HD Words count_bits(Unsigned v) {
#if KITH_LEVEL == 2
    const __m512i bits_of = _mm512_maskz_broadcast_i32x4(
        0xffff, _mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    const __m512i low = (__m512i)(v & 0x0f0f0f0fu), high = (__m512i)((v >> 4) & 0x0f0f0f0fu);
    const auto bits = (Words)_mm512_add_epi8(_mm512_shuffle_epi8(bits_of, low),
                                             _mm512_shuffle_epi8(bits_of, high));
#elif KITH_LEVEL == 1
    const __m256i bits_of =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    const __m256i low = (__m256i)(v & 0x0f0f0f0fu), high = (__m256i)((v >> 4) & 0x0f0f0f0fu);
    const auto bits = (Words)_mm256_add_epi8(_mm256_shuffle_epi8(bits_of, low),
                                             _mm256_shuffle_epi8(bits_of, high));
#else
    const Unsigned pairs = v - ((v >> 1) & 0x55555555u);
    const Unsigned fours = (pairs & 0x33333333u) + ((pairs >> 2) & 0x33333333u);
    const auto bits = (Words)((fours + (fours >> 4)) & 0x0f0f0f0fu);
#endif
    return sum_of_bytes(bits);
}

struct BitStep : CountStep {
    KITH_HD static Acc step(Acc count, F q, F x) {
        return count + count_bits((Unsigned)q ^ (Unsigned)x);
    }
};

// Quotients of counts; a half norm of +inf or NaN propagates.
struct JaccardBitsStep : CountStep {
    static constexpr int queries = KITH_LEVEL == 2 ? 6 : 3;
    struct Acc {
        Words one, either;
    };
    KITH_HD static Acc start(F) { return {Words{}, Words{}}; }
    KITH_HD static Acc step(Acc acc, F q, F x) {
        return {acc.one + count_bits((Unsigned)q ^ (Unsigned)x),
                acc.either + count_bits((Unsigned)q | (Unsigned)x)};
    }
    KITH_HD static F quotient(Words count, Words all, F half_norm) {
        const F divisor = __builtin_convertvector(all, F);
        return __builtin_convertvector(count, F) / (divisor == F{} ? Single::set(1.0) : divisor) +
               half_norm;
    }
    KITH_HD static F finish(Acc acc, F half_norm) {
        return quotient(acc.one, acc.either, half_norm);
    }
};
struct DiceBitsStep : JaccardBitsStep {
    // The popcounts of both rows sum to the bits in exactly one of them plus twice the bits in
    // both.
    KITH_HD static F finish(Acc acc, F half_norm) {
        return quotient(acc.one, acc.either + acc.either - acc.one, half_norm);
    }
};

// Words are 0 or 1; sums are integers.
struct JaccardSetsStep : QuotientStep {
    KITH_HD static Acc start(F) { return {F{}, F{}}; }
    KITH_HD static F finish(Acc acc, F half_norm) {
        const F either = acc.differences + acc.sums;
        return (acc.differences + acc.differences) / (either == F{} ? Single::set(1.0) : either) +
               half_norm;
    }
};

// Coordinates are square roots. With a = root of q, b = root of x and t = 2 a b / (a^2 + b^2),
//   q log(2 q / (q + x)) + x log(2 x / (q + x)) = (a - b)^2 G(t)
// G rises from log 2 to 1. A minimax polynomial of degree 4, here in t / 2, approximates it within
// a relative 2^-10.4.
struct DivergenceStep : FloatQueries {
    static constexpr int queries = KITH_LEVEL == 2 ? 12 : 4;
    KITH_HD static F step(F acc, F q, F x) {
        constexpr float g[] = {0x1.6324e8p-1f, 0x1.443cb0p+0f, -0x1.6c8338p+1f, 0x1.369d92p+2f,
                               -0x1.c7653ep+1f};
        const F size = Single::max(multiply_add(q, q, x * x), Single::set(0x1p-100));
        const F t = q * x * reciprocal(size), e = q - x;
        return multiply_add(e * e, polynomial(g, t), acc);
    }
};

}  // namespace
}  // namespace kith::cpu::KITH_TARGET
