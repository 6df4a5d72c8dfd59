// Values at a rank of a sample are those of the sorted sample; below the first they follow from its first ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "adversarial.h"
#include "exact/value_at_rank.h"

namespace {

using kith::exact::value_at_rank;

constexpr std::int64_t sizes[] = {1, 2, 15, 16, 17, 400, 2047};

// A few values of each are equal.
std::vector<double> sample(std::int64_t count) {
    adversarial::Random random(static_cast<std::uint64_t>(count));
    std::vector<double> out;
    for (std::int64_t i = 0; i < count; ++i) out.push_back(i % 5 == 4 ? out[i / 2] : 100 + random.gaussian());
    return out;
}

std::vector<double> sorted(std::vector<double> values) {
    std::ranges::sort(values);
    return values;
}

TEST(ValueAtRank, IsThatOfTheSortedSample) {
    for (const std::int64_t count : sizes) {
        const std::vector<double> values = sample(count), want = sorted(values);
        for (const double rank : {1.0, 1.9, 2.0, 14.5, 15.0, 16.0, 17.0, 399.0, 2046.0, 2047.0, 1e9}) {
            std::vector<double> given = values;
            const auto at = static_cast<std::size_t>(std::min(rank, static_cast<double>(count - 1)));
            // A distance from the least, and back.
            EXPECT_NEAR(want[at], value_at_rank(given, 90, rank), 1e-12) << count << ", rank " << rank;
            EXPECT_EQ(want, sorted(given));
        }
    }
}

// Of fewer than sixteen the last stands for the sixteenth.
TEST(ValueAtRank, ContinuesBelowTheFirst) {
    for (const std::int64_t count : sizes) {
        const std::vector<double> values = sample(count), want = sorted(values);
        const double first = want.front() - 90,
                     last = want[static_cast<std::size_t>(std::min<std::int64_t>(15, count - 1))] - 90,
                     slope = std::log(last / first) / std::log(16.0);
        for (const double rank : {0.99, 0.25, 1e-4}) {
            std::vector<double> given = values;
            EXPECT_NEAR(90 + first * std::pow(rank, slope), value_at_rank(given, 90, rank), 1e-12)
                << count << ", rank " << rank;
            EXPECT_EQ(want, sorted(given));
        }
    }
}

// Distances from 3 that grow as the square root of their rank, the first of which is 1.
TEST(ValueAtRank, IsAPowerOfTheRank) {
    std::vector<double> values;
    for (int i = 100; i > 0; --i) values.push_back(3 + std::sqrt(i));
    for (const double rank : {0.99, 0.25, 1e-4, 0.0}) {
        std::vector<double> given = values;
        EXPECT_NEAR(3 + std::sqrt(rank), value_at_rank(given, 3, rank), 1e-12) << rank;
    }
}

// Values that rounding has left below the least count as next to it.
TEST(ValueAtRank, IsNoLessThanTheLeast) {
    for (const double rank : {0.0, 0.5, 1.0, 3.0}) {
        std::vector<double> given = {5, 5 - 1e-9, 5, 5};
        EXPECT_EQ(5, value_at_rank(given, 5, rank)) << rank;
    }
}

}  // namespace
