// Samples of rows: eight adjacent values (a sector of memory) at a hashed place of each of equal strata, and the rank
// in a sample that bounds a rank in the row.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "metric/ops.h"

namespace kith::gpu::sampling {

inline constexpr int sample_group = 8;

// The first place that is taken of stratum number `stratum`, each `length` >= 2 * sample_group long.
KITH_HD unsigned sample_start(unsigned stratum, unsigned length) {
    const std::uint64_t hash = (stratum + 1) * 2654435761u;
    return stratum * length + static_cast<unsigned>(hash * (length - sample_group) >> 32);
}

// The rank in a sample below which the k smallest of n very probably lie. In a row without order the k-th smallest has
// k s / n sample values below it on average, with about the square root of that as deviation. In a sorted row the k
// smallest are adjacent: they hold one group per stratum of the sample, and one more.
inline int sample_rank(std::int64_t k, std::int64_t n, std::int64_t sample) {
    const double share = static_cast<double>(k) / static_cast<double>(n);
    const double mean = share * static_cast<double>(sample);
    const double unordered = mean + 3.7 * std::sqrt(mean * (1 - share)) + 3;
    const double ordered = sample_group * (std::floor(mean / sample_group) + 2);
    return static_cast<int>(std::min(std::ceil(std::max(unordered, ordered)), static_cast<double>(sample)));
}

// How far above that rank a threshold may lie: finding it takes fewer rounds.
__host__ __device__ inline int sample_slack(int rank) {
    return rank / 16 + 1;
}

// Entries that the last sort is given, at most: a power of two with room for a quarter more than k, so that cutting
// candidates down to it need not find the very k-th.
__host__ __device__ inline int sorted_size(std::int64_t k) {
    int size = 64;
    while (size < k + k / 4) size *= 2;
    return size;
}

}  // namespace kith::gpu::sampling
