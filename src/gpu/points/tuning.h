// Tuning numbers of prepared points. Plain host code.
#pragma once

#include <cstdint>

namespace kith::gpu::tuning {

// Rows of the sample that says which values coordinates take.
inline constexpr std::int64_t value_samples = 256;
// Values per coordinate that are told apart by a bit each, at most: then a coordinate is a word, as it is in f32, which
// is what the plan has room for. On an NVIDIA H200, 2026-11-22, n 131,072, q 4,096, d 128, k 10, u8, points prepared,
// G/s: 2 values 644, 4 640, 8 608, 16 493, 32 364; compared byte by byte 130. Preparing points takes 0.33, 0.36, 0.47,
// 0.72 and 1.18 ms, as bytes 0.21; one query takes 0.11 ms with 4 values and 0.20 with 32.
inline constexpr int most_values = 32;
// Rows may have other values, too, but each lets a pair pass that differs in one coordinate more: of a sample's
// coordinates so small a share, and so few rows with more than four times that. Reasoned, not timed: in two of 128
// coordinates, where one more that differs doubles the candidates or less; and rows beyond may be candidates of every
// query.
inline constexpr double other_values_share = 1.0 / 64, loose_row_share = 1.0 / 16;
inline constexpr std::int64_t most_loose_rows = 64;

}  // namespace kith::gpu::tuning
