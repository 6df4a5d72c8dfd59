// One element of any searchable type as an exact binary64 value, on host and device.
#pragma once

#include <cstdint>

#include "kith/types.h"
#include "metric/ops.h"

namespace kith::exact {

KITH_HD float bits_to_float(std::uint32_t u) {
#if defined(__CUDA_ARCH__)
    return __uint_as_float(u);
#else
    return __builtin_bit_cast(float, u);
#endif
}

// IEEE binary16 to binary32, denormals, infinities and NaN included; exact.
KITH_HD float half_to_float(std::uint16_t h) {
    const std::uint32_t sign = static_cast<std::uint32_t>(h & 0x8000u) << 16;
    const std::uint32_t rest = h & 0x7fffu;
    if (rest >= 0x7c00u) return bits_to_float(sign | 0x7f800000u | ((rest & 0x3ffu) << 13));
    if (rest < 0x0400u) {
        const float magnitude = static_cast<float>(rest) * 0x1p-24f;
        return sign ? -magnitude : magnitude;
    }
    return bits_to_float(sign | ((rest << 13) + 0x38000000u));
}

KITH_HD float bfloat_to_float(std::uint16_t b) {
    return bits_to_float(static_cast<std::uint32_t>(b) << 16);
}

// Element i of an array of `type`. The switch is uniform over a warp and hoisted out of loops by callers that care.
KITH_HD double load(const void* data, ElementType type, std::int64_t i) {
    switch (type) {
        case ElementType::f32:
            return static_cast<const float*>(data)[i];
        case ElementType::f64:
            return static_cast<const double*>(data)[i];
        case ElementType::f16:
            return half_to_float(static_cast<const std::uint16_t*>(data)[i]);
        case ElementType::bf16:
            return bfloat_to_float(static_cast<const std::uint16_t*>(data)[i]);
        case ElementType::i8:
            return static_cast<const std::int8_t*>(data)[i];
        case ElementType::u8:
            return static_cast<const std::uint8_t*>(data)[i];
        default:
            return 0.0;
    }
}

// Index of element (row, column) of a view.
KITH_HD std::int64_t offset(const MatrixView& m, std::int64_t row, std::int64_t col) {
    return m.layout == Layout::row_major ? row * m.stride + col : col * m.stride + row;
}

}  // namespace kith::exact
