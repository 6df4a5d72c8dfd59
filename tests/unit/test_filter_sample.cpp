// What a sample of points and queries says of itself.
#include <gtest/gtest.h>

#include <vector>

#include "cpu/filter/projection.h"

namespace {

using kith::cpu::FilterSample;

TEST(FilterSample, TakesPointsWhereItHasNoQueries) {
    const std::vector<double> rows(200);
    const FilterSample sample{kith::metric::Gemm::l2, rows.data(), 100, 2};
    ASSERT_EQ(16, sample.tried());
    for (std::int64_t i = 0; i < 16; ++i) {
        EXPECT_EQ(i * 100 / 16, sample.query(i));
        EXPECT_EQ(sample.query(i), sample.self(sample.query(i)));
    }
    EXPECT_EQ(3, (FilterSample{kith::metric::Gemm::l2, rows.data(), 3, 2}.tried()));
}

TEST(FilterSample, KnowsQueriesThatAreAmongThePoints) {
    const std::vector<double> rows = {1, 2, 3, 4, 5, 6, /* queries */ 5, 6, 1, 4};
    const FilterSample sample{kith::metric::Gemm::l2, rows.data(), 3, 2, false, 2};
    EXPECT_EQ(5, sample.all());
    ASSERT_EQ(2, sample.tried());
    EXPECT_EQ(3, sample.query(0));
    EXPECT_EQ(2, sample.self(3));
    EXPECT_EQ(4, sample.query(1));
    EXPECT_EQ(-1, sample.self(4));
}

}  // namespace
