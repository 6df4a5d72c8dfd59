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

// An element's value.
KITH_HD double value_of(float x) {
    return x;
}
KITH_HD double value_of(double x) {
    return x;
}
KITH_HD double value_of(float16 x) {
    return half_to_float(x.bits);
}
KITH_HD double value_of(bfloat16 x) {
    return bfloat_to_float(x.bits);
}
KITH_HD double value_of(std::int8_t x) {
    return x;
}
KITH_HD double value_of(std::uint8_t x) {
    return x;
}

// What use(elements) makes of an array of `type`, as that type's. The switch is uniform over a
// warp.
template <class Use>
KITH_HD auto with_elements(const void* data, ElementType type, const Use& use) {
    switch (type) {
        case ElementType::f32:
            return use(static_cast<const float*>(data));
        case ElementType::f64:
            return use(static_cast<const double*>(data));
        case ElementType::f16:
            return use(static_cast<const float16*>(data));
        case ElementType::bf16:
            return use(static_cast<const bfloat16*>(data));
        case ElementType::i8:
            return use(static_cast<const std::int8_t*>(data));
        default:  // u8: points and queries are of no other type
            return use(static_cast<const std::uint8_t*>(data));
    }
}

// Element i of an array of `type`.
KITH_HD double load(const void* data, ElementType type, std::int64_t i) {
    return with_elements(data, type, [i](const auto* elements) { return value_of(elements[i]); });
}

// Index of element (row, column) of a view.
KITH_HD std::int64_t offset(const MatrixView& m, std::int64_t row, std::int64_t col) {
    return m.layout == Layout::row_major ? row * m.stride + col : col * m.stride + row;
}

}  // namespace kith::exact
