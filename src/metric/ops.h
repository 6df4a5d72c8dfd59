// The few operations that a metric's step may use, for one scalar on host and device; src/cpu/vector_ops-inl.h has the
// same set for SIMD vectors. All are correctly rounded or exact, or built here from such: the same bits everywhere.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#if defined(__CUDACC__)
#define KITH_HD __host__ __device__ __forceinline__
#else
#define KITH_HD inline __attribute__((always_inline))
#endif

namespace kith {

// Set in translation units whose compiler fuses nothing by itself (-ffp-contract=off, --fmad=false).
KITH_HD double fused(double a, double b, double c) {
#if defined(__CUDA_ARCH__)
    return __fma_rn(a, b, c);
#else
    return __builtin_fma(a, b, c);
#endif
}
KITH_HD float fused(float a, float b, float c) {
#if defined(__CUDA_ARCH__)
    return __fmaf_rn(a, b, c);
#else
    return __builtin_fmaf(a, b, c);
#endif
}

KITH_HD double bits_to_double(std::uint64_t u) {
#if defined(__CUDA_ARCH__)
    return __longlong_as_double(static_cast<long long>(u));
#else
    return __builtin_bit_cast(double, u);
#endif
}
KITH_HD std::uint64_t double_to_bits(double x) {
#if defined(__CUDA_ARCH__)
    return static_cast<std::uint64_t>(__double_as_longlong(x));
#else
    return __builtin_bit_cast(std::uint64_t, x);
#endif
}

// Logarithm, exponential and power from correctly rounded operations only: a libm's last bit would differ between host
// and device. Relative errors: log and exp a few ulp, power a few ulp times |p log t|.
namespace portable {

// Natural logarithm of x >= 0: m 2^e with m in [sqrt 1/2, sqrt 2), log m = 2 atanh((m - 1) / (m + 1)) by its series.
KITH_HD double log(double x) {
    const bool tiny = x < 0x1p-1022;
    const double scaled = tiny ? x * 0x1p54 : x;
    const std::uint64_t u = double_to_bits(scaled) - 0x3fe6a09e667f3bcdULL;  // bits of sqrt(1/2)
    const std::int64_t e = static_cast<std::int64_t>(u) >> 52;
    const double m = bits_to_double(double_to_bits(scaled) - (static_cast<std::uint64_t>(e) << 52));
    const double k = static_cast<double>(static_cast<std::int32_t>(e) - (tiny ? 54 : 0));
    const double f = m - 1.0;
    const double s = f / (2.0 + f);
    const double z = s * s;
    double p = 1.0 / 21;
    p = fused(p, z, 1.0 / 19);
    p = fused(p, z, 1.0 / 17);
    p = fused(p, z, 1.0 / 15);
    p = fused(p, z, 1.0 / 13);
    p = fused(p, z, 1.0 / 11);
    p = fused(p, z, 1.0 / 9);
    p = fused(p, z, 1.0 / 7);
    p = fused(p, z, 1.0 / 5);
    p = fused(p, z, 1.0 / 3);
    const double tail = fused(2.0 * s, z * p, k * 0x1.ef35793c76730p-45);  // the low part of log 2
    const double result = fused(k, 0x1.62e42fefa3800p-1, 2.0 * s + tail);
    const double infinity = bits_to_double(0x7ff0000000000000ULL);
    return x == 0.0 ? -infinity : (x < infinity ? result : x);  // infinity and NaN: x
}

// e^y: y = k log 2 + r, |r| <= log(2) / 2, by the series to r^14.
KITH_HD double exp(double y) {
    const double clamped = y < -800.0 ? -800.0 : (y > 800.0 ? 800.0 : y);
    const double shifted = fused(clamped, 0x1.71547652b82fep+0, 0x1.8p52);
    const double k = shifted - 0x1.8p52;
    double r = fused(k, -0x1.62e42fefa3800p-1, clamped);
    r = fused(k, -0x1.ef35793c76730p-45, r);
    double p = 1.0 / 87178291200.0;
    p = fused(p, r, 1.0 / 6227020800.0);
    p = fused(p, r, 1.0 / 479001600.0);
    p = fused(p, r, 1.0 / 39916800.0);
    p = fused(p, r, 1.0 / 3628800.0);
    p = fused(p, r, 1.0 / 362880.0);
    p = fused(p, r, 1.0 / 40320.0);
    p = fused(p, r, 1.0 / 5040.0);
    p = fused(p, r, 1.0 / 720.0);
    p = fused(p, r, 1.0 / 120.0);
    p = fused(p, r, 1.0 / 24.0);
    p = fused(p, r, 1.0 / 6.0);
    p = fused(p, r, 0.5);
    p = fused(p, r, 1.0);
    p = fused(p, r, 1.0);
    // 2^k in two factors: k reaches +-1155, where one factor would overflow or lose its denormal.
    const std::int64_t ki = static_cast<std::int64_t>(static_cast<std::int32_t>(k));
    const std::int64_t half = ki >> 1;
    const double a = bits_to_double(static_cast<std::uint64_t>(half + 1023) << 52);
    const double b = bits_to_double(static_cast<std::uint64_t>(ki - half + 1023) << 52);
    return p * a * b;
}

// t^p for t >= 0, p > 0: repeated products for whole p up to 16, else exp(p log t).
KITH_HD double power(double t, double p) {
    if (p <= 16.0 && p == static_cast<double>(static_cast<int>(p))) {
        double r = t;
        for (int i = 1; i < static_cast<int>(p); ++i) r *= t;
        return r;
    }
    const double infinity = bits_to_double(0x7ff0000000000000ULL);
    if (t == 0.0) return 0.0;
    if (t == infinity) return infinity;
    return exp(p * log(t));
}

}  // namespace portable

// Scalar operations, T = float or double.
template <class T>
struct ScalarOps {
    using V = T;
    using M = bool;
    KITH_HD static V set(double c) { return static_cast<T>(c); }
    KITH_HD static V add(V a, V b) { return a + b; }
    KITH_HD static V sub(V a, V b) { return a - b; }
    KITH_HD static V mul(V a, V b) { return a * b; }
    KITH_HD static V div(V a, V b) { return a / b; }
    KITH_HD static V fma(V a, V b, V c) { return fused(a, b, c); }
    KITH_HD static V abs(V a) { return a < 0 ? -a : (a == 0 ? T(0) : a); }
    KITH_HD static V max(V a, V b) { return a < b ? b : a; }
    KITH_HD static V sqrt(V a) {
#if defined(__CUDA_ARCH__)
        if constexpr (sizeof(T) == 8) return __dsqrt_rn(a);
        else return __fsqrt_rn(a);
#else
        if constexpr (sizeof(T) == 8) return __builtin_sqrt(a);
        else return __builtin_sqrtf(a);
#endif
    }
    KITH_HD static M eq(V a, V b) {
        return a == b;
    }
    KITH_HD static V select(M m, V yes, V no) {
        return m ? yes : no;
    }
    // f(lane), f(lane, lane) for every lane, f a scalar function of portable operations.
    template <class F>
    KITH_HD static V map(F f, V a) {
        return f(a);
    }
    template <class F>
    KITH_HD static V map2(F f, V a, V b) {
        return f(a, b);
    }
};

}  // namespace kith
