// What a GPU's searches learn about points: each call reads it once, and adds what it has found.
#include <gtest/gtest.h>

#include "gpu/points/history.h"

namespace {

using kith::gpu::History;
using kith::gpu::Learned;

TEST(History, CallsAddWhatTheyFound) {
    History history;
    const Learned before = history.read();
    Learned one = before, other = before;
    one.by_passes.note(20, 5);
    one.needless = 7;
    one.terms = Learned::two_planes;
    other.by_passes.note(10, 10);
    other.coarse_misleads = true;
    other.needless = 3;
    history.add(before, one);
    history.add(before, other);
    const Learned all = history.read();
    EXPECT_EQ(30, all.by_passes.tried);
    EXPECT_EQ(15, all.by_passes.left);
    EXPECT_EQ(10, all.needless);
    EXPECT_EQ(Learned::two_planes, all.terms);
    EXPECT_TRUE(all.coarse_misleads);
    EXPECT_EQ(0, all.as_values.tried);
}

TEST(History, ACallIsNotChangedByOthers) {
    History history;
    const Learned before = history.read();
    Learned own = before, other = before;
    other.by_passes.note(100, 100);
    other.pilots.note(10, false);
    history.add(before, other);
    EXPECT_TRUE(own.by_passes.take_turn());
    EXPECT_EQ(kith::gpu::Pilots::Answer::unknown, own.pilots.known(10));
    Learned next = history.read();
    EXPECT_FALSE(next.by_passes.take_turn());
    EXPECT_EQ(kith::gpu::Pilots::Answer::refused, next.pilots.known(10));
}

// A form that does not pay is tried again in one tile of sixteen, and one call of sixteen asks pilots.
TEST(History, RefusalsAreTriedAgain) {
    History history;
    const Learned before = history.read();
    Learned first = before;
    first.by_clusters.note(50, 50);
    first.pilots.note(10, false);
    history.add(before, first);
    int turns = 0, asked = 0;
    for (int call = 0; call < 32; ++call) {
        const Learned at_first = history.read();
        Learned own = at_first;
        turns += own.by_clusters.take_turn();
        asked += own.pilots.known(10) == kith::gpu::Pilots::Answer::unknown;
        history.add(at_first, own);
    }
    EXPECT_EQ(2, turns);
    EXPECT_EQ(2, asked);
}

}  // namespace
