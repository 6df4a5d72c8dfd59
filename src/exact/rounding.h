// Doubles rounded to f32 in one direction, for bounds that f32 kernels hold values against.
#pragma once

#include <cmath>
#include <limits>

namespace kith::exact {

// The least f32 at or above a value (NaN for NaN); +inf above the largest.
inline float round_up(double x) {
    const auto f = static_cast<float>(x);
    return static_cast<double>(f) < x ? std::nextafter(f, std::numeric_limits<float>::infinity())
                                      : f;
}

// The greatest f32 at or below a value.
inline float round_down(double x) {
    return -round_up(-x);
}

}  // namespace kith::exact
