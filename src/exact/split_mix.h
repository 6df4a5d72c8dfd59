// Counter-based random numbers: a function of a seed and an index, equal on all machines.
#pragma once

#include <cstdint>

namespace kith {

// Output number `at` of SplitMix64 (Steele, Lea and Flood 2014) from the state `seed`.
inline std::uint64_t split_mix(std::uint64_t seed, std::uint64_t at) {
    constexpr std::uint64_t step = 0x9E3779B97F4A7C15ULL;
    std::uint64_t z = seed + (at + 1) * step;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ z >> 27) * 0x94D049BB133111EBULL;
    return z ^ z >> 31;
}

}  // namespace kith
