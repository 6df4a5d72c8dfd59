// The step and shift of numbers of 8 bits: whole numbers stay as they are, others lose little.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "adversarial.h"
#include "gpu/points/byte_form.h"

namespace {

using kith::gpu::choose_bytes;
using kith::gpu::ChosenBytes;

std::vector<double> gaussian(std::int64_t count, double deviation, double mean = 0) {
    adversarial::Random random(3);
    std::vector<double> out;
    for (std::int64_t i = 0; i < count; ++i) out.push_back(mean + deviation * random.gaussian());
    return out;
}

TEST(ByteForm, LeavesWholeNumbersAsTheyAre) {
    for (const double unit : {1.0, 0.25, 64.0}) {
        std::vector<double> rows;
        for (int i = 0; i < 64 * 30; ++i) rows.push_back(unit * (i % 30 == 7 ? 1000 + i % 5 : i * 37 % 256));
        const ChosenBytes found = choose_bytes(rows, 64, 30);
        EXPECT_EQ(unit, found.step);
        ASSERT_EQ(30u, found.shift.size());
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const double number = (rows[i] - found.shift[i % 30]) / unit;
            EXPECT_EQ(std::nearbyint(number), number);
            EXPECT_GE(number, -128);
            EXPECT_LE(number, 127);
        }
        EXPECT_LE(found.kappa, 0x1p-10);
    }
}

TEST(ByteForm, TakesAStepOfTheDeviations) {
    for (const double mean : {0.0, 1000.0}) {
        const ChosenBytes found = choose_bytes(gaussian(64 * 128, 2.0, mean), 64, 128);
        EXPECT_GE(127 * found.step, 2.8 * 2) << mean;
        EXPECT_LE(127 * found.step, 5.5 * 2) << mean;
        EXPECT_GE(found.kappa, 0.006);
        EXPECT_LE(found.kappa, 0.013);
        // Two rows of 128 coordinates with a square of 4.
        EXPECT_NEAR(2 * 128 * 4 * found.kappa, found.slack, 0.4 * found.slack);
    }
}

TEST(ByteForm, HasNothingForEqualRows) {
    EXPECT_EQ(0, choose_bytes(std::vector<double>(40, 3.7e-3), 4, 10).step);
    EXPECT_EQ(0, choose_bytes(std::vector<double>(40, 0.0), 4, 10).step);
}

}  // namespace
