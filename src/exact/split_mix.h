// Random numbers that are a function of a seed and of what they are for, the same on any machine.
#pragma once

#include <cstdint>

namespace kith {

// The output of SplitMix64 (Steele, Lea and Flood 2014) number `at` from the state `seed` on.
inline std::uint64_t split_mix(std::uint64_t seed, std::uint64_t at) {
    constexpr std::uint64_t step = 0x9E3779B97F4A7C15ULL;
    std::uint64_t z = seed + (at + 1) * step;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ z >> 27) * 0x94D049BB133111EBULL;
    return z ^ z >> 31;
}

}  // namespace kith
