// Samples of rows that lie as the caller left them: which places are taken, and the order statistic
// of a sample that bounds one of its row.
//
// Places are hashed, so that every run does the same work, and stratified: each of equal parts of a
// row gives as many.
//   sample_start   eight adjacent values of each part, all parts of one length: a sector of memory,
//   all of it used sample_at      a power of two of adjacent values, parts that differ in length by
//   one: the sample covers the row to
//                  its last value, which bounds of buckets need
//   sample_place   one value of each part, by a seed, of a list that is sampled again and again
//   while it shrinks
// Samples of points are another matter: positions are a permutation, and any run of them is a
// sample (filter/levels.h).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "metric/ops.h"

namespace kith::gpu::sampling {

inline constexpr int sample_group = 8;

// One of `places` places, hashed from the number of a part.
KITH_HD unsigned hashed_place(unsigned part, unsigned places) {
    return static_cast<unsigned>(std::uint64_t{(part + 1) * 2654435761u} * places >> 32);
}

// The first place that is taken of part number `stratum`, each `length` >= 2 * sample_group long.
KITH_HD unsigned sample_start(unsigned stratum, unsigned length) {
    return stratum * length + hashed_place(stratum, length - sample_group);
}

// Place i of a sample of n places in 2^strata_log parts, 2^group_log adjacent ones of each; no part
// is shorter than its group.
KITH_HD unsigned sample_at(unsigned i, int strata_log, int group_log, std::uint64_t n) {
    const unsigned stratum = i >> group_log, group = 1u << group_log;
    const auto begin = static_cast<unsigned>(stratum * n >> strata_log);
    const auto end = static_cast<unsigned>((stratum + 1) * n >> strata_log);
    return begin + hashed_place(stratum, end - begin - group + 1) + (i & (group - 1));
}

// Place i of a sample of `samples` places, count >= samples.
KITH_HD std::uint32_t sample_place(std::uint32_t i, std::uint32_t samples, std::uint32_t count,
                                   std::uint32_t seed) {
    std::uint32_t hash = (i + 1) * 0x9e3779b9u ^ seed * 0x85ebca6bu;
    hash = (hash ^ hash >> 16) * 0x7feb352du;
    hash = (hash ^ hash >> 15) * 0x846ca68bu;
    hash ^= hash >> 16;
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(i) * count / samples) +
           hash % (count / samples);
}

// How far above its mean a rank is taken: standard deviations, and a few more for small ranks.
struct Margin {
    double deviations = 3.7, extra = 3;
};

// The rank in a sample below which the k smallest of n very probably lie. In a row without order
// the k-th smallest has k s / n sample values below it on average, with about the square root of
// that as deviation. In a sorted row the k smallest are adjacent: they hold one group per stratum
// of the sample, and one more. (sample_order of filter/levels.h needs no such care: points are
// permuted. It wants to be right more often, since what it misses costs more.)
inline int sample_rank(std::int64_t k, std::int64_t n, std::int64_t sample, Margin margin = {}) {
    const double share = static_cast<double>(k) / static_cast<double>(n);
    const double mean = share * static_cast<double>(sample);
    const double unordered =
        mean + margin.deviations * std::sqrt(mean * (1 - share)) + margin.extra;
    const double ordered = sample_group * (std::floor(mean / sample_group) + 2);
    return static_cast<int>(
        std::min(std::ceil(std::max(unordered, ordered)), static_cast<double>(sample)));
}

// How far above that rank a threshold may lie: finding it takes fewer rounds.
KITH_HD int sample_slack(int rank) {
    return rank / 16 + 1;
}

// Entries that the last sort is given, at most: a power of two with room for a quarter more than k,
// so that cutting candidates down to it need not find the very k-th.
KITH_HD int sorted_size(std::int64_t k) {
    int size = 64;
    while (size < k + k / 4) size *= 2;
    return size;
}

}  // namespace kith::gpu::sampling
