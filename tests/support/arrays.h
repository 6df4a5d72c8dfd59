// Arrays: numbers rounded to an element type and laid out in memory as a caller might have them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kith/types.h"

namespace arrays {

inline const kith::ElementType element_types[] = {kith::ElementType::f32, kith::ElementType::f64,
                                                  kith::ElementType::f16, kith::ElementType::bf16,
                                                  kith::ElementType::i8,  kith::ElementType::u8};

// The nearest little float of `exponent` and `mantissa` bits, ties to even.
inline std::uint16_t encode_float(double v, int exponent, int mantissa) {
    const int bias = (1 << (exponent - 1)) - 1;
    const unsigned infinite = ((1u << exponent) - 1) << mantissa;
    const unsigned sign = std::signbit(v) ? 1u << (exponent + mantissa) : 0;
    if (std::isnan(v)) return static_cast<std::uint16_t>(infinite | 1u << (mantissa - 1));
    if (std::isinf(v)) return static_cast<std::uint16_t>(sign | infinite);
    const int e = v == 0 ? 1 - bias : std::max(std::ilogb(v), 1 - bias);
    if (e > bias) return static_cast<std::uint16_t>(sign | infinite);
    // In units of the last place; the hidden bit, and a carry out of the mantissa, count the exponent up.
    const auto units = static_cast<unsigned>(std::nearbyint(std::ldexp(std::fabs(v), mantissa - e)));
    const unsigned bits = (static_cast<unsigned>(e + bias - 1) << mantissa) + units;
    return static_cast<std::uint16_t>(sign | std::min(bits, infinite));
}

// Integer types see the numbers at twenty times their size (u8: around 100 where some are negative), clamped.
inline int whole(double v, double shift, int low, int high) {
    if (std::isnan(v)) return 0;
    return static_cast<int>(std::clamp(std::nearbyint(20 * v + shift), double(low), double(high)));
}

inline void encode(double v, kith::ElementType type, bool shifted, std::byte* out) {
    const auto put = [&](auto value) { std::memcpy(out, &value, sizeof value); };
    switch (type) {
        case kith::ElementType::f32:
            return put(static_cast<float>(v));
        case kith::ElementType::f64:
            return put(v);
        case kith::ElementType::f16:
            return put(encode_float(v, 5, 10));
        case kith::ElementType::bf16:
            return put(encode_float(v, 8, 7));
        case kith::ElementType::i8:
            return put(static_cast<std::int8_t>(whole(v, 0, -128, 127)));
        case kith::ElementType::u8:
            return put(static_cast<std::uint8_t>(whole(v, shifted ? 100 : 0, 0, 255)));
        default:
            return;
    }
}

enum class Shape { dense, strided, column_major };
inline const Shape shapes[] = {Shape::dense, Shape::strided, Shape::column_major};

// Owns the memory that `view` shows. Gaps between rows, and the bytes before the first, hold 0xff: NaN, or 255.
struct Array {
    std::vector<std::byte> bytes;
    kith::MatrixView view;
};

inline Array make(const std::vector<double>& values, std::int64_t rows, std::int64_t cols, kith::ElementType type,
                  Shape shape = Shape::dense) {
    const auto size = static_cast<std::int64_t>(kith::size_of(type));
    const bool by_rows = shape != Shape::column_major;
    const std::int64_t gap = shape == Shape::dense ? 0 : 3;
    const std::int64_t before = shape == Shape::dense ? 0 : 1;
    const std::int64_t stride = (by_rows ? cols : rows) + gap;
    const bool shifted = std::any_of(values.begin(), values.end(), [](double v) { return v < 0; });
    Array out;
    out.bytes.assign((before + stride * (by_rows ? rows : cols)) * size, std::byte{0xff});
    std::byte* first = out.bytes.data() + before * size;
    for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < cols; ++j) {
            encode(values[i * cols + j], type, shifted, first + (by_rows ? i * stride + j : j * stride + i) * size);
        }
    }
    out.view = {first,
                rows,
                cols,
                stride,
                type,
                by_rows ? kith::Layout::row_major : kith::Layout::column_major,
                kith::host_memory};
    return out;
}

}  // namespace arrays
