// What is remembered of a filter that was tried, by the number of neighbours.
#include <gtest/gtest.h>

#include "gpu/points/pca/pilots.h"

namespace {

using kith::gpu::Pilots;
using enum Pilots::Answer;

TEST(Pilots, KnowWhatIsBetween) {
    Pilots pilots;
    EXPECT_EQ(unknown, pilots.known(10));
    pilots.note(10, true);
    pilots.note(100, false);
    EXPECT_EQ(serves, pilots.known(10));
    EXPECT_EQ(serves, pilots.known(3));
    EXPECT_EQ(unknown, pilots.known(50));
    EXPECT_EQ(refused, pilots.known(100));
    EXPECT_EQ(refused, pilots.known(1000));
}

TEST(Pilots, LearnTheOpposite) {
    Pilots pilots;
    pilots.note(100, true);
    pilots.note(10, false);
    EXPECT_EQ(refused, pilots.known(100));
    EXPECT_EQ(refused, pilots.known(10));
    EXPECT_EQ(unknown, pilots.known(5));
    pilots.note(200, true);
    EXPECT_EQ(serves, pilots.known(10));
    EXPECT_EQ(unknown, pilots.known(300));
}

TEST(Pilots, AreAskedAgainNowAndThen) {
    Pilots pilots;
    pilots.note(10, true);
    int times = 0;
    for (int i = 0; i < 64; ++i) times += pilots.known(10) == unknown;
    EXPECT_EQ(4, times);
}

}  // namespace
