// Fused multiply-add, bit casts, and logarithm, exponential, power, sine and cosine from correctly
// rounded operations only: the same bits from every compiler, on host and device. This text is also
// compiled at run time, ahead of a user's formula.
#pragma once

#if defined(__CUDACC_RTC__)
namespace std {
using int32_t = int;
using int64_t = long long;
using uint64_t = unsigned long long;
}  // namespace std
#else
#include <cmath>
#include <cstdint>
#include <cstring>

#endif

#if defined(__CUDACC__)
#define KITH_HD __host__ __device__ __forceinline__
#else
#define KITH_HD inline __attribute__((always_inline))
#endif

namespace kith {

// Set in translation units whose compiler fuses nothing by itself (-ffp-contract=off,
// --fmad=false).
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

// From correctly rounded operations only: a libm's last bit would differ between host and device.
// Relative errors: log, exp, sin, cos and asin a few ulp, power a few ulp times |p log t|.
namespace portable {

// Natural logarithm of x >= 0: m 2^e with m in [sqrt 1/2, sqrt 2), log m = 2 atanh((m - 1) / (m +
// 1)) by its series.
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

// log(q / x) of q > 0, x >= 0, where the quotient is no normal number as well: of one that is in
// range, and what that has been multiplied by.
KITH_HD double log_of_quotient(double q, double x) {
    const double ratio = q / x;
    const bool above = ratio > 0x1.fffffffffffffp+1023, below = ratio < 0x1p-1022;
    const double factor = above ? 0x1p-540 : (below ? 0x1p540 : 1.0),
                 inverse = above ? 0x1p540 : (below ? 0x1p-540 : 1.0);
    const double removed =
        above ? 1080 * 0x1.62e42fefa39efp-1 : (below ? -1080 * 0x1.62e42fefa39efp-1 : 0.0);
    return log(q * factor / (x * inverse)) + removed;
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

// sin(x + quarters pi / 2) for |x| <= 2^20: x = k pi / 2 + r, |r| <= pi / 4, by the series of sin r
// to r^17 or of cos r to r^16. pi / 2 is three numbers: near a multiple of it the first difference
// is exact, and the rest is 2^-160 off.
KITH_HD double sin_of_quarters(double x, unsigned quarters) {
    const double shifted = fused(x, 0x1.45f306dc9c883p-1, 0x1.8p52);
    const double k = shifted - 0x1.8p52;
    double r = fused(k, -0x1.921fb54442d18p+0, x);
    r = fused(k, -0x1.1a62633145c07p-54, r);
    r = fused(k, 0x1.f1976b7ed8fbcp-110, r);
    const double z = r * r;
    double s = 1.0 / 355687428096000.0;
    s = fused(s, z, -1.0 / 1307674368000.0);
    s = fused(s, z, 1.0 / 6227020800.0);
    s = fused(s, z, -1.0 / 39916800.0);
    s = fused(s, z, 1.0 / 362880.0);
    s = fused(s, z, -1.0 / 5040.0);
    s = fused(s, z, 1.0 / 120.0);
    s = fused(s, z, -1.0 / 6.0);
    s = fused(z * r, s, r);
    double c = 1.0 / 20922789888000.0;
    c = fused(c, z, -1.0 / 87178291200.0);
    c = fused(c, z, 1.0 / 479001600.0);
    c = fused(c, z, -1.0 / 3628800.0);
    c = fused(c, z, 1.0 / 40320.0);
    c = fused(c, z, -1.0 / 720.0);
    c = fused(c, z, 1.0 / 24.0);
    c = fused(c, z, -0.5);
    c = fused(c, z, 1.0);
    const std::uint64_t quadrant =
        double_to_bits(shifted) + quarters;  // its lowest bits are those of k
    const double value = quadrant & 1 ? c : s;
    return quadrant & 2 ? -value : value;
}
KITH_HD double sin(double x) {
    return sin_of_quarters(x, 0);
}
KITH_HD double cos(double x) {
    return sin_of_quarters(x, 1);
}

// Arcsine for 0 <= y <= sin(pi / 8), by its series to y^41: each term is (2n - 1)^2 / (2n (2n + 1))
// y^2 of the last.
KITH_HD double small_asin(double y) {
    const double z = y * y;
    double p = 1.0;
    for (int n = 20; n >= 1; --n) {
        const auto odd = static_cast<double>(2 * n - 1), even = static_cast<double>(2 * n);
        p = fused(z * p, odd * odd / (even * (even + 1.0)), 1.0);
    }
    return y * p;
}

// For formulas. Zeros, infinities, NaN and their signs are C's; pow(t, -p) is 1 / pow(t, p), 0
// where that overflows.
KITH_HD double any_exp(double x) {
    return x != x ? x : exp(x);
}
KITH_HD double any_log(double x) {
    return x < 0 ? bits_to_double(0x7ff8000000000000ULL) : log(x);
}
KITH_HD double any_pow(double t, double p) {
    if (p == 0.0 || t == 1.0) return 1.0;
    if (t != t || p != p) return t + p;
    constexpr std::uint64_t sign = std::uint64_t{1} << 63;
    const double infinity = bits_to_double(0x7ff0000000000000ULL);
    const double magnitude = bits_to_double(double_to_bits(t) & ~sign);
    const double size = p < 0 ? -p : p;
    if (magnitude == 1.0 && size == infinity) return 1.0;
    // Beyond 2^53 every number is whole and even.
    const bool whole =
        size >= 0x1p53 || size == static_cast<double>(static_cast<std::int64_t>(size));
    if (t < 0 && !whole && magnitude < infinity) return bits_to_double(0x7ff8000000000000ULL);
    const bool odd = size < 0x1p53 && whole && static_cast<std::int64_t>(size) % 2 == 1;
    const double r = power(magnitude, size);
    const double signless = p < 0 ? 1.0 / r : r;
    return odd && (double_to_bits(t) & sign) ? -signless : signless;
}

}  // namespace portable

}  // namespace kith
