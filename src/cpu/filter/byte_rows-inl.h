// Rows as whole numbers of 8 bits, for the tiles of one instruction set.
#pragma once

#include "cpu/filter/tile.h"
#include "cpu/simd/vector_ops-inl.h"

namespace kith::cpu::KITH_TARGET {
namespace {

constexpr double most = 127, least = -128;
// A scale beyond is that of a row of 0: products with it might underflow or overflow.
constexpr double least_scale = 0x1p-60, largest_scale = 0x1p60;
// What is left of whole numbers is what their scale, rounded, is off.
constexpr double whole_residual2 = 0x1p-40;

// Sums of the row with that scale.
RowSums round_scaled(const double* in, double scale, std::int64_t d, std::uint8_t* out) {
    const double inverse = scale > 0 ? 1 / scale : 0;
    double norm2 = 0, rounded2 = 0, residual2 = 0;
#pragma omp simd reduction(+ : norm2, rounded2, residual2)
    for (std::int64_t i = 0; i < d; ++i) {
        // To the nearest: 1.5 * 2^52 leaves no place for less than a whole.
        constexpr double shifter = 0x1.8p52;
        const double v = in[i], raw = v * inverse, above = raw > least ? raw : least;
        const double whole = ((above < most ? above : most) + shifter) - shifter;
        out[i] = static_cast<std::uint8_t>(static_cast<std::int32_t>(whole));
        const double r = whole * scale, e = v - r;
        norm2 += v * v;
        rounded2 += r * r;
        residual2 += e * e;
    }
    return {norm2, rounded2, residual2};
}

RowSums round_bytes(const double* in, double whole_scale, std::int64_t d, float* out, float& scale) {
    auto* const bytes = reinterpret_cast<std::uint8_t*>(out);
    for (std::int64_t i = d; i % 4 != 0; ++i) bytes[i] = 0;
    if (whole_scale > least_scale && whole_scale < largest_scale) {
        scale = static_cast<float>(whole_scale);
        const RowSums s = round_scaled(in, static_cast<double>(scale), d, bytes);
        if (s.residual2 <= whole_residual2 * s.norm2) return s;
    }
    double size = 0;
#pragma omp simd reduction(max : size)
    for (std::int64_t i = 0; i < d; ++i) size = std::max(size, std::abs(in[i]));
    scale = static_cast<float>(size / most);
    if (!(size / most > least_scale && size / most < largest_scale)) scale = 0;
    return round_scaled(in, static_cast<double>(scale), d, bytes);
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
