// Intervals and errors of values: what the analysis of error_bound.cpp propagates.
#pragma once

#include <algorithm>
#include <cmath>

namespace kith::formula {

// An arithmetic: its rounding, its range, and the errors of its functions.
struct Arithmetic {
    bool single;
    double unit, underflow, largest, smallest_normal;
};
inline constexpr Arithmetic f32{true, 0x1p-24, 0x1p-150, 0x1.fffffep127, 0x1p-126};
inline constexpr Arithmetic f64{false, 0x1p-53, 0x1p-1074, 0x1.fffffffffffffp1023, 0x1p-1022};

// Errors of the special function units (PTX ISA, 9.7.3): reciprocal, root, log2, exp2. The root's
// error is doubled.
inline constexpr double reciprocal_error = 0x1p-23, root_error = 0x1p-22, log2_error = 0x1p-22,
                        exp2_error = 0x1p-22;
// metric/portable.h: a few ulp; for powers a few ulp times |p log t|, which is below 746.
inline constexpr double portable_error = 0x1p-48, portable_power_error = 0x1p-38;
// Larger exponents do not occur in distances. Exponents below 2^-126 may be 0 in f32, and 0 log 0
// is NaN.
inline constexpr double most_exponent = 1024;
// The real value is in [lo, hi]; the computed one is within rel |real| + abs of it.
struct State {
    double lo = 0, hi = 0, rel = 0, abs = 0;
    bool sure = false;  // the computed value is not negative, whatever its error
    double most() const { return std::max(std::fabs(lo), std::fabs(hi)); }
    double least() const { return lo > 0 ? lo : hi < 0 ? -hi : 0; }
    bool exact() const { return rel == 0 && abs == 0; }
    // The computed value is 0, or has a sign, exactly if the real one is or has.
    bool same_sign() const { return abs == 0 && rel < 1; }
    // Bounds of the computed value: at least computed_least() if lo >= 0, and at most
    // computed_most() in magnitude.
    double computed_least() const { return lo * (1 - rel) - abs; }
    double computed_most() const { return most() * (1 + rel) + abs; }
};

struct Refused {
    const char* why;
};

// Widens outwards by more than binary64's rounding; 0 is exact.
inline void set_interval(State& s, double lo, double hi) {
    constexpr double wider = 0x1p-50, tiny = 1e-300;
    s.lo = lo > 0 ? (lo < tiny ? 0 : lo * (1 - wider)) : lo < 0 ? lo * (1 + wider) - tiny : 0;
    s.hi = hi > 0 ? hi * (1 + wider) + tiny : hi < 0 ? (hi > -tiny ? 0 : hi * (1 - wider)) : 0;
}

// `widened` adds a small margin; power_error is (1 - r)^-p - 1.
inline double widened(double error) {
    return error * (1 + 0x1p-30);
}
inline double power_error(double relative, double p) {
    return widened(std::expm1(-p * std::log1p(-relative)));
}

}  // namespace kith::formula
