// Well-mixed bits of a counter, on the host and on a device: what the benchmark's data are made from.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define KITH_BENCH_BOTH __host__ __device__
#else
#define KITH_BENCH_BOTH
#endif

namespace kith::bench {

// 64 well-mixed bits of a counter (Steele, Lea, Flood 2014: SplitMix64).
KITH_BENCH_BOTH inline std::uint64_t mixed(std::uint64_t counter) {
    std::uint64_t z = (counter + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

}  // namespace kith::bench
