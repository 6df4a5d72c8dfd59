// The step and shift of numbers of 8 bits: whole numbers stay as they are, others lose little.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "adversarial.h"
#include "gpu/points/byte_form.h"

namespace {

using kith::gpu::choose_bytes;
using kith::gpu::choose_leading;
using kith::gpu::ChosenBytes;
using kith::gpu::ChosenLeading;

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

// Rows whose first coordinates are far longer than the others, turned, and the matrix of these first ones.
struct Turned {
    static constexpr std::int64_t rows = 64, columns = 96, leading = 8;
    std::vector<double> sample, matrix;

    Turned() : matrix(static_cast<std::size_t>(columns * leading)) {
        // A reflection: its own inverse, and its rows are what each coordinate has of the turned ones.
        std::vector<double> mirror = gaussian(columns, 1.0);
        double norm2 = 0;
        for (const double x : mirror) norm2 += x * x;
        const auto reflection = [&](std::int64_t i, std::int64_t j) {
            return (i == j ? 1 : 0) -
                   2 * mirror[static_cast<std::size_t>(i)] * mirror[static_cast<std::size_t>(j)] / norm2;
        };
        const std::vector<double> drawn = gaussian(rows * columns, 1.0);
        for (std::int64_t r = 0; r < rows; ++r)
            for (std::int64_t c = 0; c < columns; ++c) {
                double x = 0;
                for (std::int64_t j = 0; j < columns; ++j)
                    x += reflection(j, c) * drawn[static_cast<std::size_t>(r * columns + j)] * (j < leading ? 10 : 1);
                sample.push_back(x);
            }
        for (std::int64_t c = 0; c < columns; ++c)
            for (std::int64_t j = 0; j < leading; ++j)
                matrix[static_cast<std::size_t>(c * leading + j)] = reflection(j, c);
    }
};

TEST(ByteForm, LeadingDirectionsLeaveLess) {
    const Turned turned;
    const ChosenBytes bytes = choose_bytes(turned.sample, turned.rows, turned.columns);
    const ChosenLeading found =
        choose_leading(turned.sample, turned.rows, turned.columns, bytes, turned.matrix, turned.leading);
    ASSERT_GT(found.coarse, bytes.step);
    EXPECT_EQ(bytes.step * bytes.step, found.coarse * found.fine);
    // Of 10^2 x 8 + 88 along all directions 88 are across the leading ones, of noise nearly all.
    EXPECT_NEAR(std::sqrt(888.0 / 88) * bytes.kappa, found.kappa, 0.3 * found.kappa);
    EXPECT_GT(found.coarse_kappa, 0);
    EXPECT_GT(found.fine_kappa, 0);
    EXPECT_LT(found.fine_kappa, 0.1 * found.kappa);
}

TEST(ByteForm, LeadingDirectionsAreOrthonormal) {
    Turned turned;
    const ChosenBytes bytes = choose_bytes(turned.sample, turned.rows, turned.columns);
    turned.matrix[17] += 1e-9;
    EXPECT_EQ(0,
              choose_leading(turned.sample, turned.rows, turned.columns, bytes, turned.matrix, turned.leading).coarse);
}

}  // namespace
