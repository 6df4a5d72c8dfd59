// exp, log and pow of metric/portable.h on vectors of doubles: the same operations in the same
// order on every lane, and so the same bits.
#pragma once

#include "cpu/simd/vector_ops-inl.h"

namespace kith::cpu::KITH_TARGET {
namespace {

// What formula/operations.h wants of a vocabulary.
struct VectorFormulaOps : VectorOps<double> {
    KITH_HD static V nan() { return set(std::numeric_limits<double>::quiet_NaN()); }
    KITH_HD static M integer(std::int64_t i) { return i - M{}; }
    // Of what may wrap around: the bits of a NaN or of a negative number.
    typedef std::uint64_t Bits __attribute__((vector_size(vector_bytes)));
    KITH_HD static M minus(M a, M b) { return (M)((Bits)a - (Bits)b); }
    KITH_HD static M shifted_left(M a, int by) { return (M)((Bits)a << by); }
    // 1.5 * 2^52, to which adding a small integer, as bits or as a double, is the same.
    static constexpr double shifter = 0x1.8p52;
    static constexpr std::int64_t shifter_bits = 0x4338000000000000;

    KITH_HD static V log(V x) {
        const M tiny = x < set(0x1p-1022);
        const M bits = (M)select(tiny, x * set(0x1p54), x);
        const M u = minus(bits, integer(0x3fe6a09e667f3bcd));
        const M e = u >> 52;
        const V m = (V)minus(bits, u & integer(-(std::int64_t{1} << 52)));
        const V k = (V)(e - (tiny & integer(54)) + integer(shifter_bits)) - set(shifter);
        const V f = m - set(1.0);
        const V s = f / (set(2.0) + f);
        const V z = s * s;
        V p = set(1.0 / 21);
        p = fma(p, z, set(1.0 / 19));
        p = fma(p, z, set(1.0 / 17));
        p = fma(p, z, set(1.0 / 15));
        p = fma(p, z, set(1.0 / 13));
        p = fma(p, z, set(1.0 / 11));
        p = fma(p, z, set(1.0 / 9));
        p = fma(p, z, set(1.0 / 7));
        p = fma(p, z, set(1.0 / 5));
        p = fma(p, z, set(1.0 / 3));
        const V twice = set(2.0) * s;
        const V tail = fma(twice, z * p, k * set(0x1.ef35793c76730p-45));
        const V result = fma(k, set(0x1.62e42fefa3800p-1), twice + tail);
        const V infinity = set(std::numeric_limits<double>::infinity());
        return select(x == set(0.0), -infinity, select(x < infinity, result, x));
    }

    KITH_HD static V exp(V y) {
        const V clamped =
            select(y < set(-800.0), set(-800.0), select(y > set(800.0), set(800.0), y));
        const V shifted = fma(clamped, set(0x1.71547652b82fep+0), set(shifter));
        const V k = shifted - set(shifter);
        V r = fma(k, set(-0x1.62e42fefa3800p-1), clamped);
        r = fma(k, set(-0x1.ef35793c76730p-45), r);
        V p = set(1.0 / 87178291200.0);
        p = fma(p, r, set(1.0 / 6227020800.0));
        p = fma(p, r, set(1.0 / 479001600.0));
        p = fma(p, r, set(1.0 / 39916800.0));
        p = fma(p, r, set(1.0 / 3628800.0));
        p = fma(p, r, set(1.0 / 362880.0));
        p = fma(p, r, set(1.0 / 40320.0));
        p = fma(p, r, set(1.0 / 5040.0));
        p = fma(p, r, set(1.0 / 720.0));
        p = fma(p, r, set(1.0 / 120.0));
        p = fma(p, r, set(1.0 / 24.0));
        p = fma(p, r, set(1.0 / 6.0));
        p = fma(p, r, set(0.5));
        p = fma(p, r, set(1.0));
        p = fma(p, r, set(1.0));
        const M whole = minus((M)shifted, integer(shifter_bits));
        const M half = whole >> 1;
        const V a = (V)shifted_left(half + integer(1023), 52);
        const V b = (V)shifted_left(minus(whole, half) + integer(1023), 52);
        return p * a * b;
    }

    KITH_HD static V exponential(V x) { return select(x != x, x, exp(x)); }
    KITH_HD static V logarithm(V x) { return select(x < set(0.0), nan(), log(x)); }
    KITH_HD static V power(V t, V p) {
        return map2([](double base, double exponent) { return portable::any_pow(base, exponent); },
                    t, p);
    }

    // Whether any_pow multiplies.
    static bool small_whole(double p) {
        return p >= -16.0 && p <= 16.0 && p == static_cast<double>(static_cast<int>(p));
    }
    // any_pow for one exponent of another kind.
    KITH_HD static V far_power(V t, double p) {
        const double size = p < 0 ? -p : p;
        const bool large = size >= 0x1p53, nan_power = p != p;
        const std::int64_t integer_part = large || nan_power ? 0 : static_cast<std::int64_t>(size);
        const bool whole = large || size == static_cast<double>(integer_part),
                   odd = whole && integer_part % 2 == 1;
        const V infinity = set(std::numeric_limits<double>::infinity()), zero = set(0.0),
                one = set(1.0);
        const V magnitude = select(t < zero, -t, t);
        V r = exp(set(size) * log(magnitude));
        r = select(magnitude == zero, zero, select(magnitude == infinity, infinity, r));
        if (large && size * 0.0 != 0.0)
            r = select(magnitude == one, one, r);  // to an infinite power
        if (p < 0) r = one / r;
        if (odd) r = select((M)t < integer(0), -r, r);
        else if (!whole) r = select((t < zero) & (magnitude != infinity), nan(), r);
        r = select(t != t, t, nan_power ? nan() : r);
        return select(t == one, one, r);
    }
};

}  // namespace
}  // namespace kith::cpu::KITH_TARGET
