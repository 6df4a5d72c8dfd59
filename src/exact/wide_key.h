// Wide keys order pairs of metrics with a root (docs/contract.md, section 1) even if the distance
// key, a power of the distance, over- or underflows binary64. A key that is 0, infinite or
// in_range() is its own wide key. Any other is replaced by the distance with 48 significant bits.
// Distances below all keys are encoded in the numbers from 0 to least_key, distances above in the
// numbers from end_of_keys on. Hence wide keys compare as numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "exact/canonical.h"

namespace kith::exact {

// Smaller keys have lost digits of the root to underflow; larger ones leave room for wide keys.
inline constexpr double least_key = 0x1p-960, end_of_keys = 0x1p990;

inline bool in_range(double key) {
    return key >= least_key && key < end_of_keys;
}

namespace detail {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
// Bits of a distance that a wide key drops.
inline constexpr int lost_bits = 5;
// Distances of large powers are below 1 if they are below all keys, and not if they are above them.
// `normal` times the smallest distance is a normal number.
inline constexpr double normal = 0x1p100;

inline std::uint64_t shortened(double x) {
    return (double_to_bits(x) + (1ULL << (lost_bits - 1))) >> lost_bits;
}

}  // namespace detail

// The distance of two mapped vectors of a metric with Traits::root, correct to a few roundings
// whenever it is representable in binary64. It scales the differences, exactly for squares.
// `scratch`: 3 d doubles.
template <class M>
double scaled_distance(const double* q, const double* x, const metric::Params& params,
                       double* scratch) {
    const std::int64_t d = params.d;
    double *const t = scratch, *const zeros = t + d;
    double largest = 0;
    for (std::int64_t i = 0; i < d; ++i) {
        t[i] = q[i] - x[i];
        zeros[i] = 0;
        const double size = std::abs(t[i]);
        if (!(size < detail::infinity)) return detail::infinity;
        largest = std::max(largest, size);
    }
    if (largest == 0) return 0;
    const auto report = [&] {
        return M::report(rank<M>(t, zeros, nullptr, nullptr, params, zeros + d), params);
    };
    if constexpr (M::traits.root == metric::Root::power) {
        for (std::int64_t i = 0; i < d; ++i) t[i] /= largest;
        return largest * report();
    }
    int exponent = std::ilogb(largest);
    if constexpr (M::traits.factored) {
        double diagonal = 0;  // holds the largest magnitude of a positive definite matrix
        for (std::int64_t i = 0; i < d; ++i)
            diagonal = std::max(diagonal, params.constants[i * d + i]);
        if (diagonal > 0) exponent += std::ilogb(diagonal) / 2;
    }
    for (std::int64_t i = 0; i < d; ++i) t[i] = std::ldexp(t[i], -exponent);
    return std::ldexp(report(), exponent);
}

// The wide key of a pair with a key that is not in_range(), from its scaled_distance().
inline double wide_key(double key, double distance) {
    if (distance == 0 || distance == detail::infinity) return distance;
    if (key < least_key)
        return bits_to_double(detail::shortened(std::min(distance, 1.0) * detail::normal));
    // A finite distance is never rounded to infinity.
    const std::uint64_t most = detail::shortened(detail::infinity) - 1,
                        bits = std::min(detail::shortened(std::max(distance, 1.0)), most);
    return bits_to_double(double_to_bits(end_of_keys) + bits - detail::shortened(1.0));
}

// The distance of a wide key; report(key) if it is an ordinary key. Monotone: it never decreases as
// the key grows.
template <class Report>
double wide_distance(double key, const Report& report) {
    if (key == 0 || key == detail::infinity || in_range(key)) return report(key);
    if (key < least_key) {
        const double distance =
            bits_to_double(double_to_bits(key) << detail::lost_bits) / detail::normal;
        return std::min(distance, report(least_key));
    }
    const std::uint64_t above =
        double_to_bits(key) - double_to_bits(end_of_keys) + detail::shortened(1.0);
    const std::uint64_t most = detail::shortened(detail::infinity);
    return std::max(bits_to_double(std::min(above, most) << detail::lost_bits),
                    report(end_of_keys));
}

}  // namespace kith::exact
