// Sizes of parts, ranges and steps of a pass along few directions, without a device.
#include <gtest/gtest.h>

#include <algorithm>

#include "gpu/search/passes/projected_tuning.h"

namespace {

using namespace kith::gpu;

TEST(ProjectedTuning, PartsFitL2AndQueries) {
    using tuning::part_points;
    constexpr std::int64_t l2 = 50 << 20, row = 3072;
    EXPECT_EQ(8192, part_points(8192, 100, 1 << 16, row, l2));
    EXPECT_EQ(l2 / 2 / row, part_points(8192, 100, 1 << 17, row, l2));
    EXPECT_EQ(0, part_points(8192, 10, 1 << 17, row, l2)) << "few neighbours";
    EXPECT_EQ(0, part_points(8192, 100, 1 << 15, row, l2)) << "a range that L2 nearly holds";
    EXPECT_EQ(0, part_points(8192, 100, 1 << 18, row, 6 << 20)) << "an L2 that holds next to nothing";
    EXPECT_EQ(1024, part_points(512, 10, 1 << 13, row, l2));
    EXPECT_EQ((1 << 18) / 96, part_points(512, 10, 1 << 18, row, 6 << 20));
    EXPECT_EQ(0, part_points(63, 100, 1 << 17, row, l2)) << "very few queries";
}

// Few neighbours need no second stage, but of long rows; many a range of no more than a quarter of the points.
TEST(ProjectedTuning, StagesAndRangesByNeighbours) {
    using tuning::few_kept, tuning::longest_range, tuning::stages_of;
    for (const int stages : {0, 1, 2, 3}) {
        EXPECT_EQ(std::min(stages, 1), stages_of(stages, 1024, few_kept));
        EXPECT_EQ(stages, stages_of(stages, 1024, few_kept + 1));
        EXPECT_EQ(stages, stages_of(stages, 1040, 1));
    }
    for (const std::int64_t n : {1, 4096, 999'999, 1 << 20}) {
        EXPECT_EQ(n, longest_range(n, 64));
        EXPECT_GE(4 * longest_range(n, 65), n);
        EXPECT_LT(4 * longest_range(n, 65), n + 4);
    }
}

// Steps are equal, whole tiles, and hold all queries.
TEST(ProjectedTuning, StepsHoldAllQueries) {
    for (const std::int64_t q : {1, 128, 8192, 10000, 10240, 10241, 30000, 100000}) {
        const std::int64_t step = tuning::projected_step(q), steps = (q + step - 1) / step;
        EXPECT_LE(step, tuning::most_step_queries) << q;
        EXPECT_TRUE(step == q || step % filter_tile_queries == 0) << q;
        EXPECT_EQ((q + tuning::most_step_queries - 1) / tuning::most_step_queries, steps) << q;
    }
}

// Ranges go on to the last point, and leave no short rest.
TEST(ProjectedTuning, RangesReachTheLastPoint) {
    for (const std::int64_t n : {4096, 5000, 100000, 1 << 20})
        for (const std::int64_t most : {1, 4096, 50000, 1 << 20}) {
            std::int64_t seen = 0;
            while (seen < n) {
                const std::int64_t end = tuning::end_of_range(seen, most, n);
                ASSERT_LT(seen, end) << n << ", " << most;
                ASSERT_LE(end, n) << n << ", " << most;
                if (end < n) {
                    EXPECT_LE(end - seen, 4 * (n - end)) << n << ", " << most;
                }
                seen = end;
            }
        }
}

}  // namespace
