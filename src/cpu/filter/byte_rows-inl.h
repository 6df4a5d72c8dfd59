// Rows as whole numbers of 8 or 16 bits, for the tiles of one instruction set.
#pragma once

#include "cpu/filter/row_sums-inl.h"

namespace kith::cpu::KITH_TARGET {
namespace {

// A scale beyond is that of a row of 0: products with it might underflow or overflow.
constexpr double least_scale = 0x1p-60, largest_scale = 0x1p60;
// What is left of whole numbers is what their scale, rounded, is off.
constexpr double whole_residual2 = 0x1p-40;

// The coordinates that say whether a row may be whole numbers: rows that are not are rounded once,
// not twice.
constexpr std::int64_t probe = 64;

// Sums of the row as whole numbers from `least` to `most` times that scale.
template <class Number>
RowSums round_scaled(const double* in, double scale, double least, double most, std::int64_t d,
                     Number* out) {
    using Real = VectorOps<double>;
    using Words = std::int32_t __attribute__((vector_size(4 * Real::lanes)));
    typedef Number Numbers __attribute__((vector_size(sizeof(Number) * Real::lanes)));
    const Real::V low = Real::set(least), high = Real::set(most);
    // To the nearest: 1.5 * 2^52 leaves no place for less than a whole.
    const Real::V shifter = Real::set(0x1.8p52);
    const double inverse = scale > 0 ? 1 / scale : 0;
    RowSumLanes sums;
    const auto round = [&](Real::V v, std::int64_t count) {
        const Real::V above = Real::max(low, v * inverse);
        const Real::V whole = ((above < high ? above : high) + shifter) - shifter;
        const Numbers numbers =
            __builtin_convertvector(__builtin_convertvector(whole, Words), Numbers);
        std::memcpy(out, &numbers, static_cast<std::size_t>(count) * sizeof(Number));
        out += count;
        sums.add(v, whole * scale);
    };
    std::int64_t i = 0;
    for (; i + Real::lanes <= d; i += Real::lanes) round(Real::load(in + i), Real::lanes);
    if (i < d) round(Real::load_part(in + i, static_cast<int>(d - i)), d - i);
    return sums.total();
}

// The scale in which numbers of up to `most` hold every coordinate; 0 where products with it might
// underflow or overflow.
float scale_of(const double* in, std::int64_t d, double most) {
    double size = 0;
#pragma omp simd reduction(max : size)
    for (std::int64_t i = 0; i < d; ++i) size = std::max(size, std::abs(in[i]));
    const double scale = size / most;
    return scale > least_scale && scale < largest_scale ? static_cast<float>(scale) : 0;
}

RowSums round_bytes(const double* in, double whole_scale, std::int64_t d, float* out,
                    float& scale) {
    constexpr double least = -128, most = 127;
    auto* const bytes = reinterpret_cast<std::int8_t*>(out);
    for (std::int64_t i = d; i % 4 != 0; ++i) bytes[i] = 0;
    const auto rounded = [&](std::int64_t count) {
        return round_scaled(in, static_cast<double>(scale), least, most, count, bytes);
    };
    if (whole_scale > least_scale && whole_scale < largest_scale) {
        scale = static_cast<float>(whole_scale);
        RowSums s = rounded(std::min(d, probe));
        const auto whole = [&s] { return s.residual2 <= whole_residual2 * s.norm2; };
        if (whole() && d > probe) s = rounded(d);
        if (whole()) return s;
    }
    scale = scale_of(in, d, most);
    return rounded(d);
}

void raise(float* words, std::int64_t count) {
    for (std::int64_t j = 0; j < count; ++j) {
        std::uint32_t word;
        std::memcpy(&word, words + j, sizeof word);
        word ^= 0x80808080;
        std::memcpy(words + j, &word, sizeof word);
    }
}

std::int64_t sum(const float* words, std::int64_t count) {
    const auto* const bytes = reinterpret_cast<const std::int8_t*>(words);
    std::int64_t all = 0;
    for (std::int64_t i = 0; i < 4 * count; ++i) all += bytes[i];
    return all;
}

constexpr ByteKernels byte_kernels_with(const Tiles& tiles, bool raised) {
    return {tiles, round_bytes, raised ? raise : nullptr, sum};
}

}  // namespace
}  // namespace kith::cpu::KITH_TARGET
