// Hilbert's curve in any number of dimensions: points whose indices are near each other lie near each other.
#pragma once

#include <cstdint>

#include "metric/ops.h"

namespace kith::gpu {

// Coordinates that the curve looks at, and the bits of each: an index leaves a bit of 64.
inline constexpr int most_curve_axes = 63, most_curve_bits = 31;
struct CurveShape {
    int axes = 0, bits = 0;
    KITH_HD int index_bits() const { return axes * bits; }
};
inline CurveShape curve_shape(std::int64_t d) {
    const int axes = static_cast<int>(d < most_curve_axes ? d : most_curve_axes);
    const int bits = axes > 0 ? 63 / axes : 0;
    return {axes, bits < most_curve_bits ? bits : most_curve_bits};
}

// The index of the cell `cell` (a number of `bits` bits on each axis), which is overwritten: rotations and reflections
// of the cubes that hold it, then a Gray code (Skilling 2004).
KITH_HD std::uint64_t curve_index(const CurveShape& shape, std::uint32_t* cell) {
    if (shape.bits == 0) return 0;
    const std::uint32_t top = std::uint32_t{1} << (shape.bits - 1);
    for (std::uint32_t half = top; half > 1; half >>= 1) {
        const std::uint32_t below = half - 1;
        for (int i = 0; i < shape.axes; ++i) {
            if (cell[i] & half) {
                cell[0] ^= below;
            } else {
                const std::uint32_t differ = (cell[0] ^ cell[i]) & below;
                cell[0] ^= differ;
                cell[i] ^= differ;
            }
        }
    }
    for (int i = 1; i < shape.axes; ++i) cell[i] ^= cell[i - 1];
    std::uint32_t flip = 0;
    for (std::uint32_t half = top; half > 1; half >>= 1)
        if (cell[shape.axes - 1] & half) flip ^= half - 1;
    std::uint64_t index = 0;
    for (int bit = shape.bits - 1; bit >= 0; --bit)
        for (int i = 0; i < shape.axes; ++i) index = index << 1 | (((cell[i] ^ flip) >> bit) & 1);
    return index;
}

}  // namespace kith::gpu
