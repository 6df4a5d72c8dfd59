// The values that selections are timed on: a function of row and column, the same on the host and on a device.
#pragma once

#include <cstdint>
#include <limits>

#include "counter.h"

namespace kith::bench {

// The order of the values within a row.
enum class Order : std::uint8_t { uniform, ascending, descending, constant, narrow, infinite, distances };
inline constexpr int orders = 7;
inline constexpr const char* order_names[orders] = {"uniform", "ascending", "descending", "constant",
                                                    "narrow",  "infinite",  "distances"};

inline constexpr int distance_dimensions = 128;

// The squared distance of query `row` and point `column`, independent and uniform in [0, 1)^128, with coordinates of 16
// bits: a sum of integers, rounded once, and so the same everywhere.
KITH_BENCH_BOTH inline float squared_distance(std::int64_t row, std::int64_t column) {
    constexpr int bits = 16, in_word = 64 / bits, words = distance_dimensions / in_word;
    const auto query = static_cast<std::uint64_t>(2 * row) * words,
               point = static_cast<std::uint64_t>(2 * column + 1) * words;
    std::uint64_t sum = 0;
    for (std::uint64_t word = 0; word < words; ++word) {
        const std::uint64_t q = mixed(query + word), x = mixed(point + word);
        for (int i = 0; i < in_word; ++i) {
            const auto a = static_cast<std::uint16_t>(q >> (i * bits)), b = static_cast<std::uint16_t>(x >> (i * bits));
            const std::uint32_t apart = a > b ? a - b : b - a;
            sum += apart * apart;
        }
    }
    return static_cast<float>(sum) * 0x1p-32f;
}

// uniform: in [0, 1); narrow: 16 distinct values; infinite: nine of ten are +infinity, the others uniform; distances:
// squared_distance.
KITH_BENCH_BOTH inline float value_at(Order order, std::int64_t row, std::int64_t column, std::int64_t n) {
    if (order == Order::distances) return squared_distance(row, column);
    const std::uint64_t bits =
        mixed(static_cast<std::uint64_t>(row) * static_cast<std::uint64_t>(n) + static_cast<std::uint64_t>(column));
    const float unit = static_cast<float>(bits >> 40) * 0x1p-24f;
    switch (order) {
        case Order::ascending:
            return static_cast<float>((static_cast<double>(column) + unit) / static_cast<double>(n));
        case Order::descending:
            return static_cast<float>((static_cast<double>(n - 1 - column) + unit) / static_cast<double>(n));
        case Order::constant:
            return 1.0f;
        case Order::narrow:
            return static_cast<float>(bits >> 60) * 0.0625f;
        case Order::infinite:
            return bits % 10 ? std::numeric_limits<float>::infinity() : unit;
        default:
            return unit;
    }
}

}  // namespace kith::bench
