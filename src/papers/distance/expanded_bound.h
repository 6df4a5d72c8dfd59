// Error bound of squares of differences by the expanded form, |q|^2 + |x|^2 - 2 <q, x> in f32: a
// share of each row's own square (docs/proofs/direct.md, lemma 4). Plain host code too: tests/unit
// attacks it without a device.
#pragma once

#include <cstdint>

#include "gpu/primitives/f32.h"
#include "metric/metric.h"

namespace kith::gpu::distance {

// Rows with a larger square are not covered. So no sum of at most twice a covered square overflows.
inline constexpr double largest_square = 0x1p100;

// For rows of `width` words, at most 65,536, with products summed in any order: a value is within
// both rows' shares of the real number.
struct ExpandedBound {
    double relative, absolute;
    explicit ExpandedBound(std::int64_t width) {
        const auto n = static_cast<double>(width);
        // d + 1 roundings of a term of the product, six of the norms and sums, and some slack.
        relative = (n + 12) * 0x1p-24 * (1 + 2 * n * 0x1p-24) * (1 + 0x1p-20);
        // The loss by underflow, if numbers below the smallest normal one are read and written as
        // zeros.
        absolute = (n + 8) * 0x1p-124;
    }
    KITH_HD double share(double square) const { return relative * square + absolute; }
};

// A value in f32 from -2 <q, x>, the point's square less its share, and the query's square.
// Uncovered points, and those with a NaN, have an infinite point_square: it is the value, whatever
// their words are.
KITH_HD float expanded_value(float product, float point_square, float query_square) {
    if (point_square > largest_f32 || point_square < -largest_f32) return point_square;
    const float value = (product + point_square) + query_square;
    return value < largest_f32 ? value : largest_f32;
}

}  // namespace kith::gpu::distance
