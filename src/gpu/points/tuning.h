// Tuning numbers of prepared points. Plain host code.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace kith::gpu::tuning {

// Rows of the sample that says which values coordinates take.
inline constexpr std::int64_t value_samples = 256;
// Values per coordinate that are told apart by a bit each, at most: then a coordinate is a word, as it is in f32, which
// is what the plan has room for. On an NVIDIA H200, 2026-11-22, n 131,072, q 4,096, d 128, k 10, u8, points prepared,
// G/s: 2 values 644, 4 640, 8 608, 16 493, 32 364; compared byte by byte 130. Preparing points takes 0.33, 0.36, 0.47,
// 0.72 and 1.18 ms, as bytes 0.21; one query takes 0.11 ms with 4 values and 0.20 with 32.
inline constexpr int most_values = 32;
// Rows may have other values, too, but each lets a pair pass that differs in one coordinate more: so many of them in
// the mean row of d coordinates, and so few rows with more than four times that. Reasoned, not timed: two of 128, where
// one more that differs doubles the candidates or less; as large a share of fewer coordinates, and as many deviations
// of the distances of more. Rows beyond may be candidates of every query.
inline double most_other_values(std::int64_t d) {
    const auto coordinates = static_cast<double>(d);
    return std::min(coordinates / 64, 0.18 * std::sqrt(coordinates));
}
inline constexpr double loose_row = 4;  // times that
inline constexpr std::int64_t most_loose_rows = 64;

}  // namespace kith::gpu::tuning
