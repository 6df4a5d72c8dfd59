// One element of any type, to and from double and int64, rounding to nearest even where it must.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "kith/types.h"

namespace kith::cli {

inline bool is_integer(ElementType type) {
    return type == ElementType::i8 || type == ElementType::u8 || type == ElementType::i32 || type == ElementType::i64;
}

namespace detail {

template <class T>
T element_at(const void* data, std::size_t index) {
    T value;
    std::memcpy(&value, static_cast<const std::byte*>(data) + index * sizeof(T), sizeof(T));
    return value;
}

template <class T>
void put_element(void* data, std::size_t index, T value) {
    std::memcpy(static_cast<std::byte*>(data) + index * sizeof(T), &value, sizeof(T));
}

// A small IEEE format: `mantissa` stored bits, exponents from `least` (of the normal numbers) to `most`.
struct SmallFloat {
    int mantissa;
    int least;
    int most;
};
inline constexpr SmallFloat half{10, -14, 15};
inline constexpr SmallFloat brain{7, -126, 127};

inline double decode(std::uint16_t bits, SmallFloat format) {
    const int exponent = (bits & 0x7fff) >> format.mantissa;
    const int fraction = bits & ((1 << format.mantissa) - 1);
    const int bias = format.most;
    double value;
    if (exponent == format.most - format.least + 2) {
        value = fraction ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
    } else if (exponent == 0) {
        value = std::ldexp(fraction, format.least - format.mantissa);
    } else {
        value = std::ldexp(fraction + (1 << format.mantissa), exponent - bias - format.mantissa);
    }
    return bits & 0x8000 ? -value : value;
}

inline std::uint16_t encode(double value, SmallFloat format) {
    const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
    const int special = (format.most - format.least + 2) << format.mantissa;
    if (std::isnan(value)) return static_cast<std::uint16_t>(sign | special | 1 << (format.mantissa - 1));
    const double size = std::fabs(value);
    if (size == 0) return sign;
    if (std::isinf(size)) return static_cast<std::uint16_t>(sign | special);
    const int exponent = std::max(std::ilogb(size), format.least);
    // Scaling by a power of two is exact, so nearbyint rounds once. A carry out of the fraction adds into the exponent.
    const auto steps = static_cast<long>(std::nearbyint(std::ldexp(size, format.mantissa - exponent)));
    const long bits = (static_cast<long>(exponent - format.least) << format.mantissa) + steps;
    return static_cast<std::uint16_t>(sign | (bits < special ? bits : special));
}

}  // namespace detail

inline double load_element(const void* data, std::size_t index, ElementType type) {
    using namespace detail;
    switch (type) {
        case ElementType::f32:
            return element_at<float>(data, index);
        case ElementType::f64:
            return element_at<double>(data, index);
        case ElementType::f16:
            return decode(element_at<std::uint16_t>(data, index), half);
        case ElementType::bf16:
            return decode(element_at<std::uint16_t>(data, index), brain);
        case ElementType::i8:
            return element_at<std::int8_t>(data, index);
        case ElementType::u8:
            return element_at<std::uint8_t>(data, index);
        case ElementType::i32:
            return element_at<std::int32_t>(data, index);
        case ElementType::i64:
            return static_cast<double>(element_at<std::int64_t>(data, index));
    }
    return 0;
}

// `type` is an integer type.
inline std::int64_t load_integer(const void* data, std::size_t index, ElementType type) {
    if (type == ElementType::i64) return detail::element_at<std::int64_t>(data, index);
    return static_cast<std::int64_t>(load_element(data, index, type));
}

// The nearest integer of type T, the ends standing for what lies beyond them, 0 for NaN.
template <class T>
T nearest_integer(double value) {
    if (std::isnan(value)) return 0;
    const double rounded = std::nearbyint(value);
    if (rounded <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
    if (rounded >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
    return static_cast<T>(rounded);
}

inline void store_element(void* data, std::size_t index, ElementType type, double value) {
    using namespace detail;
    switch (type) {
        case ElementType::f32:
            return put_element(data, index, static_cast<float>(value));
        case ElementType::f64:
            return put_element(data, index, value);
        case ElementType::f16:
            return put_element(data, index, encode(value, half));
        case ElementType::bf16:
            return put_element(data, index, encode(value, brain));
        case ElementType::i8:
            return put_element(data, index, nearest_integer<std::int8_t>(value));
        case ElementType::u8:
            return put_element(data, index, nearest_integer<std::uint8_t>(value));
        case ElementType::i32:
            return put_element(data, index, nearest_integer<std::int32_t>(value));
        case ElementType::i64:
            return put_element(data, index, nearest_integer<std::int64_t>(value));
    }
}

// The nearest of `type` to an integer. A double between would round a second time; one that is odd where bits are lost
// cannot: no value of a type with 51 bits or fewer, and no middle between two, is odd.
inline void store_integer(void* data, std::size_t index, ElementType type, std::int64_t value) {
    using namespace detail;
    const auto clamped = [&](auto zero) {
        using T = decltype(zero);
        using Limits = std::numeric_limits<T>;
        const T nearest = value < 0 ? Limits::min() : Limits::max();
        put_element(data, index, std::in_range<T>(value) ? static_cast<T>(value) : nearest);
    };
    switch (type) {
        case ElementType::f32:
            return put_element(data, index, static_cast<float>(value));
        case ElementType::f64:
            return put_element(data, index, static_cast<double>(value));
        case ElementType::f16:
        case ElementType::bf16: {
            std::uint64_t size = value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
            int shift = 0;
            for (; size >> 53 != 0; ++shift) size = size >> 1 | (size & 1);
            const double odd = std::ldexp(static_cast<double>(size), shift);
            return store_element(data, index, type, value < 0 ? -odd : odd);
        }
        case ElementType::i8:
            return clamped(std::int8_t{});
        case ElementType::u8:
            return clamped(std::uint8_t{});
        case ElementType::i32:
            return clamped(std::int32_t{});
        case ElementType::i64:
            return put_element(data, index, value);
    }
}

// The value in full: integers with every digit.
inline std::string text_of(const void* data, std::size_t index, ElementType type) {
    return is_integer(type) ? fmt::format("{}", load_integer(data, index, type))
                            : fmt::format("{}", load_element(data, index, type));
}

}  // namespace kith::cli
