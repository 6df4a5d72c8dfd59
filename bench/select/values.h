// The values that selections are timed on: a function of row and column, the same on the host and on a device.
#pragma once

#include <cstdint>
#include <limits>

#ifdef __CUDACC__
#define KITH_BENCH_BOTH __host__ __device__
#else
#define KITH_BENCH_BOTH
#endif

namespace kith::bench {

// The order of the values within a row.
enum class Order : std::uint8_t { uniform, ascending, descending, constant, narrow, infinite };
inline constexpr int orders = 6;
inline constexpr const char* order_names[orders] = {"uniform",  "ascending", "descending",
                                                    "constant", "narrow",    "infinite"};

// 64 well-mixed bits of a counter (Steele, Lea, Flood 2014: SplitMix64).
KITH_BENCH_BOTH inline std::uint64_t mixed(std::uint64_t counter) {
    std::uint64_t z = (counter + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

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
