// The values that selections are timed on: a function of row and column, the same on the host and on a device.
#pragma once

#include <cstdint>
#include <limits>

#include "counter.h"

namespace kith::bench {

// The order of the values within a row.
enum class Order : std::uint8_t { uniform, ascending, descending, constant, narrow, infinite };
inline constexpr int orders = 6;
inline constexpr const char* order_names[orders] = {"uniform",  "ascending", "descending",
                                                    "constant", "narrow",    "infinite"};

// uniform: in [0, 1); narrow: 16 distinct values; infinite: nine of ten are +infinity, the others uniform.
KITH_BENCH_BOTH inline float value_at(Order order, std::int64_t row, std::int64_t column, std::int64_t n) {
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
