// The points and queries that searches are timed on: a function of seed, row and column, made where the search runs.
//
// Host and device agree but for the last bits of their logarithms and cosines.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>

#include "counter.h"
#include "kith/error.h"
#include "kith/types.h"

namespace kith::bench {

enum class Data : std::uint8_t {
    gaussian,  // every coordinate on its own
    clusters,  // 1,000 Gaussian centres, shared by points and queries; Gaussian of deviation 0.01 around them
    unit,      // Gaussian directions, of length 1
    uniform,   // every coordinate in [0, 1); of integers every value
    spectrum,  // Gaussian, of deviation i^-0.7 in coordinate i from 1 on
};
inline constexpr const char* data_names[] = {"gaussian", "clusters", "unit", "uniform", "spectrum"};
Data data_named(const std::string& name);  // throws invalid_argument

// The element type of a name that a search takes. Throws invalid_argument.
ElementType type_named(const std::string& name);

struct Recipe {
    Data data = Data::gaussian;
    bool non_negative = false;  // absolute values
    std::uint64_t seed = 1;
    double largest = 0;  // magnitudes are cut to a little less, for elements are rounded; 0: they are not
};
inline constexpr std::uint64_t points_seed = 1, queries_seed = 2;

inline constexpr std::uint64_t cluster_count = 1000, cluster_seed = 3;
inline constexpr float cluster_deviation = 0.01f;
// Integer elements: values 1 apart become this many steps.
inline constexpr float integer_steps = 32;

KITH_BENCH_BOTH inline std::uint64_t bits_at(std::uint64_t seed, std::uint64_t counter) {
    return mixed(mixed(seed) + counter);
}

KITH_BENCH_BOTH inline float uniform_of(std::uint64_t bits) {
    return static_cast<float>(bits >> 40) * 0x1p-24f;
}

// Box and Muller 1958.
KITH_BENCH_BOTH inline float gaussian_of(std::uint64_t bits) {
    constexpr float turn = 6.28318531f;
    const float radius = std::sqrt(-2 * std::log(1 - uniform_of(bits)));
    return radius * std::cos(turn * uniform_of(bits << 24));
}

// Before `unit` is scaled.
KITH_BENCH_BOTH inline float coordinate(const Recipe& r, std::int64_t row, std::int64_t column, std::int64_t d) {
    const auto at = static_cast<std::uint64_t>(row * d + column);
    const std::uint64_t bits = bits_at(r.seed, at);
    float value = r.data == Data::uniform ? uniform_of(bits) : gaussian_of(bits);
    if (r.data == Data::clusters) {
        const std::uint64_t cluster = bits_at(r.seed + cluster_seed, static_cast<std::uint64_t>(row)) % cluster_count;
        const std::uint64_t of_centre = cluster * static_cast<std::uint64_t>(d) + static_cast<std::uint64_t>(column);
        value = gaussian_of(bits_at(cluster_seed, of_centre)) + cluster_deviation * value;
    }
    if (r.data == Data::spectrum) value *= std::pow(static_cast<float>(column + 1), -0.7f);
    if (r.largest > 0) {
        const float edge = 0.99f * static_cast<float>(r.largest);
        value = std::fmin(std::fmax(value, -edge), edge);
    }
    return r.non_negative ? std::fabs(value) : value;
}

// binary16, to nearest even; |value| below 65,504.
KITH_BENCH_BOTH inline std::uint16_t half_of(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value), rest = bits & 0x7fffffffu;
    const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000u);
    // Denormals: adding 0.5 leaves their bits at the end of the sum.
    if (rest < 0x38800000u)
        return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(std::fabs(value) + 0.5f) - 0x3f000000u));
    return static_cast<std::uint16_t>(sign | ((rest + 0xc8000fffu + (rest >> 13 & 1)) >> 13));
}

KITH_BENCH_BOTH inline std::uint16_t bfloat_of(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    return static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

// A coordinate as an element: integers take 256 steps of a uniform one, `integer_steps` to 1 of the others.
template <class T>
KITH_BENCH_BOTH T element_of(float value, Data data) {
    if constexpr (std::is_same_v<T, float16>) {
        return {half_of(value)};
    } else if constexpr (std::is_same_v<T, bfloat16>) {
        return {bfloat_of(value)};
    } else if constexpr (std::is_integral_v<T>) {
        constexpr float least = std::is_signed_v<T> ? -128 : 0, centre = least + 128;
        const float step =
            data == Data::uniform ? least + std::floor(256 * value) : centre + std::nearbyint(integer_steps * value);
        return static_cast<T>(std::fmin(std::fmax(step, least), least + 255));
    } else {
        return static_cast<T>(value);
    }
}

// Calls `f` with a value of the type. Throws invalid_argument where a search does not take it.
template <class F>
void with_element(ElementType type, F f) {
    switch (type) {
        case ElementType::f32:
            return f(float{});
        case ElementType::f64:
            return f(double{});
        case ElementType::f16:
            return f(float16{});
        case ElementType::bf16:
            return f(bfloat16{});
        case ElementType::i8:
            return f(std::int8_t{});
        case ElementType::u8:
            return f(std::uint8_t{});
        default:
            throw Error(ErrorCode::invalid_argument, std::string("type: ") + name(type) + " cannot be searched");
    }
}

// rows x d elements at `to`, row-major and dense, on `device`. Throws kith::Error.
void fill(int device, void* to, ElementType type, std::int64_t rows, std::int64_t d, const Recipe& recipe);
// Likewise, on a CUDA device.
void fill_on_device(int device, void* to, ElementType type, std::int64_t rows, std::int64_t d, const Recipe& recipe);

}  // namespace kith::bench
