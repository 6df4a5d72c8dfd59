// Samples of rows in the caller's order: the places that are taken, and the order statistic of a
// sample that bounds one of its row.
//
// Places are hashed, so every run does the same work. They are stratified: each of the equal parts
// of a row gives equally many.
//
//   sample_start   eight adjacent values of each part, all parts of one length: a sector of memory,
//                  all of it used
//   sample_at      a power of two of adjacent values, parts that differ in length by one: the
//                  sample covers the row to its last value, which bounds of buckets need
//   sample_place   one value of each part, by a seed, of a list that is sampled again and again
//                  while it shrinks
//
// Samples of points differ: positions are a permutation, and any run of them is a sample
// (filter/levels.h).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "metric/ops.h"

namespace kith::gpu::sampling {

inline constexpr int sample_group = 8;

// One of `places` places, hashed from the index of a part.
KITH_HD unsigned hashed_place(unsigned part, unsigned places) {
    return static_cast<unsigned>(std::uint64_t{(part + 1) * 2654435761u} * places >> 32);
}

// The first sampled place of part `stratum`; each part is `length` >= 2 * sample_group long.
KITH_HD unsigned sample_start(unsigned stratum, unsigned length) {
    return stratum * length + hashed_place(stratum, length - sample_group);
}

// Place i of a sample of a row of n: 2^strata_log parts, 2^group_log adjacent places of each. No
// part is shorter than its group.
KITH_HD unsigned sample_at(unsigned i, int strata_log, int group_log, std::uint64_t n) {
    const unsigned stratum = i >> group_log, group = 1u << group_log;
    const auto begin = static_cast<unsigned>(stratum * n >> strata_log);
    const auto end = static_cast<unsigned>((stratum + 1) * n >> strata_log);
    return begin + hashed_place(stratum, end - begin - group + 1) + (i & (group - 1));
}

// Place i of a sample of `samples` places from a list of `count` >= samples.
KITH_HD std::uint32_t sample_place(std::uint32_t i, std::uint32_t samples, std::uint32_t count,
                                   std::uint32_t seed) {
    std::uint32_t hash = (i + 1) * 0x9e3779b9u ^ seed * 0x85ebca6bu;
    hash = (hash ^ hash >> 16) * 0x7feb352du;
    hash = (hash ^ hash >> 15) * 0x846ca68bu;
    hash ^= hash >> 16;
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(i) * count / samples) +
           hash % (count / samples);
}

// How far above its mean a rank is chosen: in standard deviations, plus a constant for small ranks.
struct Margin {
    double deviations = 3.7, extra = 3;
};

// The rank in a sample below which the k smallest of n lie with high probability. In an unordered
// row, k s / n sample values lie below the k-th smallest on average, with a standard deviation of
// about the square root. In a sorted row the k smallest are adjacent: they hold one group per
// stratum that they span, and one more. (sample_order of filter/levels.h needs no such care: points
// are permuted. It fails less often, since a failure costs more.)
inline int sample_rank(std::int64_t k, std::int64_t n, std::int64_t sample, Margin margin = {}) {
    const double share = static_cast<double>(k) / static_cast<double>(n);
    const double mean = share * static_cast<double>(sample);
    const double unordered =
        mean + margin.deviations * std::sqrt(mean * (1 - share)) + margin.extra;
    const double ordered = sample_group * (std::floor(mean / sample_group) + 2);
    return static_cast<int>(
        std::min(std::ceil(std::max(unordered, ordered)), static_cast<double>(sample)));
}

// How far above that rank a threshold may lie: the slack saves rounds.
KITH_HD int sample_slack(int rank) {
    return rank / 16 + 1;
}

// The most entries that the last sort is given: a power of two with room for a quarter more than k.
// Reducing candidates to it need not find the exact k-th.
KITH_HD int sorted_size(std::int64_t k) {
    int size = 64;
    while (size < k + k / 4) size *= 2;
    return size;
}

}  // namespace kith::gpu::sampling
