// Samples of the estimators in passes of many ranges, and the sort of several threads, against plain loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "estimators/counts.h"
#include "estimators/parallel.h"
#include "estimators/sample.h"
#include "samples.h"

namespace {

using namespace kith;
using namespace samples;

TEST(EstimatorSamples, SortIsThatOfOneThread) {
    std::mt19937 random(1);
    for (const std::size_t n : {0, 1, 1000, 16'384, 100'003, 200'000}) {
        std::vector<double> values(n);
        for (double& v : values) v = static_cast<double>(random() % 5000);
        std::vector<double> want = values;
        std::sort(want.begin(), want.end());
        for (const int threads : {1, 2, 3, 4, 9}) {
            std::vector<double> got = values;
            estimators::sort_parallel(threads, got);
            EXPECT_EQ(want, got) << n << ", " << threads;
        }
    }
}

TEST(EstimatorSamples, EqualCountsAreThoseOfAMap) {
    const std::int64_t n = 70'000;
    for (const std::int64_t d : {1, 3}) {
        const Table x = rounded(gaussian(n, d, 2), 0.25);
        const estimators::Sample sample = estimators::sample_of(x.view(), "x", 3);
        std::map<std::vector<double>, std::int64_t> rows;
        const auto row = [&](std::int64_t i) { return std::vector<double>(sample.row(i), sample.row(i + 1)); };
        for (std::int64_t i = 0; i < n; ++i) ++rows[row(i)];
        const std::vector<std::int64_t> got = estimators::equal_counts(sample, 3);
        for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(rows[row(i)] - 1, got[static_cast<std::size_t>(i)]) << i;
    }
}

// The first in the order of rows, whichever thread finds one first.
TEST(EstimatorSamples, NameTheFirstValueThatIsNotFinite) {
    Table x = gaussian(60'000, 2, 3);
    x.values[2 * 31'000 + 1] = std::numeric_limits<double>::quiet_NaN();
    x.values[2 * 52'000] = std::numeric_limits<double>::infinity();
    for (const int threads : {1, 4}) {
        try {
            estimators::sample_of(x.view(), "x", threads);
            FAIL();
        } catch (const Error& error) {
            EXPECT_NE(std::string::npos, std::string(error.what()).find("x: row 31000, column 1")) << error.what();
        }
    }
}

TEST(EstimatorSamples, JoinScaleAndPickRows) {
    const std::int64_t n = 20'000;
    const Table x = gaussian(n, 2, 4, 0, 1000), y = gaussian(n, 1, 5);
    estimators::Sample a = estimators::sample_of(x.view(), "x", 2), b = estimators::sample_of(y.view(), "y", 2);
    const estimators::Sample both = estimators::joined({&a, &b}, 2);
    const std::vector<std::int64_t> rows{19'999, 0, 7, 7};
    const estimators::Sample some = estimators::rows_of(both, rows, 2);
    for (std::size_t i = 0; i < rows.size(); ++i)
        for (std::int64_t c = 0; c < 3; ++c)
            EXPECT_EQ(c < 2 ? x.at(rows[i], c) : y.at(rows[i], 0), some.row(static_cast<std::int64_t>(i))[c]);
    const int exponent = estimators::scale_together({&a, &b}, 2);
    double most = 0;
    for (const double v : a.values) most = std::max(most, std::fabs(v));
    EXPECT_TRUE(most < 1 && most >= 0.5) << most;
    EXPECT_EQ(std::ldexp(y.at(n - 1, 0), exponent), b.values.back());
}

}  // namespace
