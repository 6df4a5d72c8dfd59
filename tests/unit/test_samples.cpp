// Samples of rows and of points: where they look, and that what they say bounds the whole. And the sizes of launches.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "gpu/filter/levels.h"
#include "gpu/primitives/sample.h"
#include "gpu/runtime/launch.h"

namespace {

using namespace kith::gpu;
using namespace kith::gpu::sampling;

TEST(Samples, AGroupInEachStratum) {
    for (const unsigned length : {16u, 17u, 100u, 4099u}) {
        for (unsigned stratum = 0; stratum < 1000; ++stratum) {
            const unsigned start = sample_start(stratum, length);
            ASSERT_LE(stratum * length, start);
            ASSERT_GE((stratum + 1) * length, start + sample_group);
        }
    }
}

// Distinct places, as many in each part of the row, in groups of adjacent ones.
TEST(Samples, GroupsOfARow) {
    constexpr int samples_log = 10, samples = 1 << samples_log;
    for (const int group_log : {0, 3}) {
        const int group = 1 << group_log, strata_log = samples_log - group_log;
        for (const std::uint64_t n : {std::uint64_t{samples}, std::uint64_t{3001}, std::uint64_t{1} << 22}) {
            std::set<unsigned> places;
            for (unsigned i = 0; i < samples; ++i) {
                const unsigned at = sample_at(i, strata_log, group_log, n);
                const std::uint64_t stratum = i >> group_log;
                ASSERT_LE(stratum * n >> strata_log, at);
                ASSERT_GT((stratum + 1) * n >> strata_log, at);
                if (i % static_cast<unsigned>(group) != 0) {
                    ASSERT_EQ(sample_at(i - 1, strata_log, group_log, n) + 1, at);
                }
                places.insert(at);
            }
            EXPECT_EQ(static_cast<std::size_t>(samples), places.size()) << "n " << n << ", groups of " << group;
        }
    }
}

// One place in each part, others for another seed.
TEST(Samples, PlacesOfAList) {
    constexpr std::uint32_t samples = 32;
    for (const std::uint32_t count : {32u, 33u, 1000u, 0xffffffffu}) {
        int other = 0;
        for (std::uint32_t i = 0; i < samples; ++i) {
            const std::uint32_t at = sample_place(i, samples, count, 7);
            ASSERT_LE(std::uint64_t{i} * count / samples, at);
            ASSERT_GT(std::uint64_t{i} * count / samples + count / samples, at);
            other += at != sample_place(i, samples, count, 8);
        }
        EXPECT_EQ(count >= 1000, other > 0) << count;
    }
}

// Sample values that are among the k smallest of n, whose places are given.
int among(const std::vector<bool>& smallest, unsigned strata) {
    const auto length = static_cast<unsigned>(smallest.size()) / strata;
    int found = 0;
    for (unsigned stratum = 0; stratum < strata; ++stratum)
        for (unsigned i = 0; i < sample_group; ++i) found += smallest[sample_start(stratum, length) + i];
    return found;
}

TEST(Samples, ARankHoldsInRowsWithAndWithoutOrder) {
    constexpr std::int64_t n = 1 << 16;
    constexpr unsigned strata = 128;
    constexpr std::int64_t sample = std::int64_t{strata} * sample_group;
    std::mt19937 random(1);
    for (const std::int64_t k : {1, 10, 100, 1000, 20000, 65536}) {
        const int rank = sample_rank(k, n, sample);
        ASSERT_LE(1, rank);
        ASSERT_GE(sample, rank);
        std::vector<bool> smallest(n);
        std::fill(smallest.begin(), smallest.begin() + k, true);
        EXPECT_GE(rank, among(smallest, strata)) << "ascending, k " << k;
        EXPECT_GE(rank, among({smallest.rbegin(), smallest.rend()}, strata)) << "descending, k " << k;
        for (int turn = 0; turn < 20; ++turn) {
            std::shuffle(smallest.begin(), smallest.end(), random);
            EXPECT_GE(rank, among(smallest, strata)) << "shuffled, k " << k;
        }
    }
}

TEST(Samples, AWiderMarginIsAHigherRank) {
    for (const std::int64_t k : {1000, 10000, 30000})
        EXPECT_LT(sample_rank(k, 1 << 16, 4096), sample_rank(k, 1 << 16, 4096, {.deviations = 6.5, .extra = 8})) << k;
    EXPECT_EQ(4096, sample_rank(1 << 16, 1 << 16, 4096, {.deviations = 6.5, .extra = 8}));
}

// Of points any run of positions is a sample; k of them always suffice.
TEST(Samples, AnOrderHoldsAmongPermutedPoints) {
    constexpr std::int64_t n = 1 << 16, sample = 4096;
    std::vector<std::int64_t> ranks(n);
    std::iota(ranks.begin(), ranks.end(), 0);
    std::mt19937 random(2);
    for (const std::int64_t k : {1, 10, 100, 1000, 20000, 65536}) {
        const std::int64_t order = sample_order(k, sample, n);
        ASSERT_LE(1, order);
        ASSERT_GE(std::min(k, sample), order);
        for (int turn = 0; turn < 20; ++turn) {
            std::shuffle(ranks.begin(), ranks.end(), random);
            std::vector<std::int64_t> of(ranks.begin(), ranks.begin() + sample);
            std::nth_element(of.begin(), of.begin() + (order - 1), of.end());
            EXPECT_TRUE(of[static_cast<std::size_t>(order - 1)] >= k - 1 || order == sample) << "k " << k;
        }
    }
}

// The odds that a sample holds `order` of the k nearest or more, of n points.
double odds(std::int64_t k, std::int64_t sample, std::int64_t n, std::int64_t order) {
    const auto of = [](std::int64_t all, std::int64_t some) {
        const auto factorial = [](std::int64_t i) { return std::lgamma(static_cast<double>(i) + 1); };
        return factorial(all) - factorial(some) - factorial(all - some);
    };
    double sum = 0;
    for (std::int64_t held = order; held <= std::min(k, sample); ++held)
        if (sample - held <= n - k) sum += std::exp(of(k, held) + of(n - k, sample - held) - of(n, sample));
    return sum;
}

// k of them are certain. Not many fewer would do as well.
TEST(Samples, AnOrderFailsAFewTimesInAMillion) {
    constexpr std::int64_t n = 1 << 20;
    for (const std::int64_t k : {1, 10, 32, 64, 100, 128, 300, 1000, 2048})
        for (const double part : {1.0 / 256, 1.0 / 64, 1.0 / 16, 0.125, 0.25, 0.4, 0.5, 0.625, 0.75, 0.9}) {
            const auto sample = static_cast<std::int64_t>(part * n);
            const std::int64_t order = sample_order(k, sample, n), spare = 2 + order / 40;
            const std::string what = "k " + std::to_string(k) + ", sample " + std::to_string(sample);
            if (order < k) {
                EXPECT_LT(odds(k, sample, n, order), 4e-6) << what;
            }
            if (order > spare) {
                EXPECT_GT(odds(k, sample, n, order - spare), 2e-7) << what;
            }
        }
}

TEST(Samples, TheLastSortHasRoom) {
    for (const std::int64_t k : {1, 51, 52, 64, 1000, 10752}) {
        const int size = sorted_size(k);
        EXPECT_EQ(0, size & (size - 1)) << k;
        EXPECT_LE(k + k / 4, size) << k;
        EXPECT_TRUE(size == 64 || size / 2 < k + k / 4) << k;
    }
}

TEST(Launch, BlocksHoldEveryItem) {
    EXPECT_EQ(1u, item_blocks(1));
    EXPECT_EQ(1u, item_blocks(item_threads));
    EXPECT_EQ(2u, item_blocks(item_threads + 1));
    EXPECT_EQ(1u << 24, item_blocks(std::int64_t{1} << 32));
}

}  // namespace
