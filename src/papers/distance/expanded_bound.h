// What squares of differences by the expanded form, |q|^2 + |x|^2 - 2 <q, x> in f32, may be wrong
// by: a share of each row's own square (docs/exactness.md, section 6). Plain host code too:
// tests/unit attacks it without a device.
#pragma once

#include <cstdint>

#include "gpu/primitives/f32.h"
#include "metric/metric.h"

namespace kith::gpu::distance {

// Rows with a larger square are not covered: no sum that is no more than twice theirs overflows.
inline constexpr double largest_square = 0x1p100;

// For rows of so many words, at most 65,536, whose product is summed in any order: a value is
// within the shares of both rows of the real number.
struct ExpandedBound {
    double relative, absolute;
    explicit ExpandedBound(std::int64_t width) {
        const auto n = static_cast<double>(width);
        // d + 1 roundings of a term of the product, six of the norms and sums, and room.
        relative = (n + 12) * 0x1p-24 * (1 + 2 * n * 0x1p-24) * (1 + 0x1p-20);
        // What underflow takes, were numbers below the smallest normal one read and written as
        // zeros.
        absolute = (n + 8) * 0x1p-124;
    }
    KITH_HD double share(double square) const { return relative * square + absolute; }
};

// A value in f32, from -2 <q, x>, the point's square less what it pays, and the query's. Points
// that are not covered, and those with a NaN, have an infinity for that, whatever their words are.
KITH_HD float expanded_value(float product, float point_square, float query_square) {
    if (point_square > largest_f32 || point_square < -largest_f32) return point_square;
    const float value = (product + point_square) + query_square;
    return value < largest_f32 ? value : largest_f32;
}

}  // namespace kith::gpu::distance
