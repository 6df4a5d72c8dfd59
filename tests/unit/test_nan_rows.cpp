// NanRows: the rows of a matrix in host memory that hold a NaN, by any number of threads.
#include <gtest/gtest.h>

#include <utility>

#include "kith/nan_rows.h"
#include "nan_cases.h"

namespace {

TEST(NanRows, AreCountedOfEveryTypeAndLayout) {
    nan_cases::each([](const nan_cases::NanCase& c) {
        for (const int threads : {1, 3}) EXPECT_EQ(c.wrong, kith::NanRows(c.rows.view).count(threads)) << c.label;
    });
}

TEST(NanRows, OfNothingAreNone) {
    EXPECT_EQ(0, kith::NanRows(kith::MatrixView{}).count());
    kith::MatrixView empty = kith::view(static_cast<const float*>(nullptr), 0, 5);
    kith::NanRows rows(empty), moved(std::move(rows));
    EXPECT_EQ(0, moved.count(2));
}

// Enough bytes for several threads.
TEST(NanRows, OfALargeMatrix) {
    constexpr std::int64_t n = 500000, d = 24;
    std::vector<float> values(n * d, 2.0f);
    for (const std::int64_t row : {std::int64_t{0}, n / 2, n - 1}) {
        values[static_cast<std::size_t>(row * d + 7)] = std::numeric_limits<float>::quiet_NaN();
    }
    for (const int threads : {0, 1, 2, 5}) EXPECT_EQ(3, kith::NanRows(kith::view(values.data(), n, d)).count(threads));
}

}  // namespace
