// Rounding of a double to the next f32 at or above it, and at or below.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "exact/rounding.h"

namespace {

using kith::exact::round_down, kith::exact::round_up;

constexpr float infinity = std::numeric_limits<float>::infinity(), largest = std::numeric_limits<float>::max(),
                smallest = std::numeric_limits<float>::denorm_min();

TEST(Rounding, LeavesWhatIsOneOfF32) {
    for (const float f : {0.0f, 1.0f, 1.5f, smallest, 0x1p-126f, largest, infinity})
        for (const float x : {f, -f}) {
            EXPECT_EQ(x, round_up(x));
            EXPECT_EQ(x, round_down(x));
        }
    EXPECT_TRUE(std::isnan(round_up(std::nan(""))));
    EXPECT_TRUE(std::isnan(round_down(std::nan(""))));
}

TEST(Rounding, GoesToTheNextInItsDirection) {
    EXPECT_EQ(0x1.000002p0f, round_up(1 + 0x1p-52));
    EXPECT_EQ(1.0f, round_down(1 + 0x1p-52));
    EXPECT_EQ(1.0f, round_up(1 - 0x1p-53));
    EXPECT_EQ(0x1.fffffep-1f, round_down(1 - 0x1p-53));
    // Where the nearest lies on the wrong side, and at a tie.
    EXPECT_EQ(0x1.000002p0f, round_up(1 + 0x1p-24));
    EXPECT_EQ(0x1.000002p0f, round_down(1 + 3 * 0x1p-24));
    EXPECT_EQ(0x1.000004p0f, round_up(1 + 3 * 0x1p-24));
}

TEST(Rounding, AtTheEndsOfTheRange) {
    EXPECT_EQ(smallest, round_up(0x1p-1074));
    EXPECT_EQ(0.0f, round_down(0x1p-1074));
    EXPECT_EQ(0.0f, round_up(-0x1p-1074));
    EXPECT_EQ(-smallest, round_down(-0x1p-1074));
    EXPECT_EQ(infinity, round_up(0x1.fffffe0000001p127));
    EXPECT_EQ(largest, round_down(0x1.fffffe0000001p127));
    EXPECT_EQ(infinity, round_up(0x1p1000));
    EXPECT_EQ(-largest, round_up(-0x1p1000));
    EXPECT_EQ(largest, round_down(0x1p1000));
}

TEST(Rounding, EnclosesByNeighbours) {
    std::mt19937_64 random(1);
    std::uniform_real_distribution<double> mantissa(-2, 2);
    std::uniform_int_distribution<int> exponent(-160, 126);
    for (int i = 0; i < 100000; ++i) {
        const double x = std::ldexp(mantissa(random), exponent(random));
        const float above = round_up(x), below = round_down(x);
        ASSERT_LE(below, x);
        ASSERT_GE(above, x);
        ASSERT_TRUE(above == below || above == std::nextafter(below, infinity)) << x;
    }
}

}  // namespace
