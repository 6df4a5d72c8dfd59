// The comparison with the oracle: points that a rank's slack cannot tell apart may change places, no others.
#include <gtest/gtest.h>

#include <vector>

#include "kith/kith.h"
#include "truth.h"

namespace {

TEST(Truth, PointsWithinASlackChangePlaces) {
    // Two equal points, ranks 0 without a slack, and one whose logarithms cancel but for what they round.
    const std::vector<double> points{1, 1, 1, 1, 0.5, 2}, query{1, 1};
    const Truth truth("kl_divergence", {}, kith::view(points.data(), 3, 2), kith::view(query.data(), 1, 2), 3);
    const auto difference = [&](const std::vector<std::int64_t>& ids) {
        kith::Neighbors answer{1, 3, ids, {}, {0, 0, 0}, {}};
        return truth.difference(answer);
    };
    EXPECT_EQ("", difference({0, 1, 2}));
    EXPECT_EQ("", difference({0, 2, 1}));
    EXPECT_EQ("", difference({2, 0, 1}));
    EXPECT_NE("", difference({1, 0, 2}));
    EXPECT_NE("", difference({1, 2, 0}));
    EXPECT_NE("", difference({2, 1, 0}));
    EXPECT_NE("", difference({0, 0, 1}));
}

}  // namespace
