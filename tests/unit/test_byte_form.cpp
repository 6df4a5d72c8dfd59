// The step and shift of numbers of 8 bits: whole numbers stay as they are, others lose little.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "adversarial.h"
#include "gpu/filter/pca/further.h"
#include "gpu/points/pca/byte_form.h"

namespace {

using kith::gpu::choose_bytes;
using kith::gpu::choose_four_bits;
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

// The squares of what a step leaves of coordinates in 4 bits.
double left_by(double step, const std::vector<double>& sample) {
    double left = 0;
    for (const double x : sample) {
        const double rest = x - kith::gpu::further_number(x, 1 / step, false) * step;
        left += rest * rest;
    }
    return left;
}

TEST(FourBits, NothingOfZeros) {
    EXPECT_EQ(0, choose_four_bits({}));
    EXPECT_EQ(0, choose_four_bits(std::vector<double>(64, 0.0)));
}

TEST(FourBits, AThirdOfADeviation) {
    for (const double deviation : {1.0, 1e-6, 3e5}) {
        const std::vector<double> sample = gaussian(1 << 14, deviation);
        const double step = choose_four_bits(sample);
        EXPECT_GE(step, 0.29 * deviation);
        EXPECT_LE(step, 0.38 * deviation);
        // 0.0115 of the squares of normal coordinates.
        EXPECT_LT(left_by(step, sample), 0.014 * static_cast<double>(sample.size()) * deviation * deviation);
    }
}

// Few coordinates beyond all others are worth coarser numbers of these, or are clipped.
TEST(FourBits, LeavesLeastOfOutliers) {
    for (const double outlier : {3.0, 10.0, 100.0, 1e6}) {
        std::vector<double> sample = gaussian(1 << 12, 1.0);
        for (std::size_t i = 0; i < sample.size(); i += 1000) sample[i] = i % 2000 == 0 ? outlier : -outlier;
        double squares = 0;
        for (const double x : sample) squares += x * x;
        const double step = choose_four_bits(sample), deviation = std::sqrt(squares / (1 << 12));
        EXPECT_GT(step, 0) << outlier;
        EXPECT_LT(left_by(step, sample), squares) << outlier;
        for (const double share : {0.2, 0.335, 0.5, 1.1})
            EXPECT_LE(left_by(step, sample), left_by(share * deviation, sample) * (1 + 1e-12)) << outlier;
    }
}

TEST(FourBits, ConstantColumns) {
    const std::vector<double> alike(64, -5.0);
    EXPECT_LE(left_by(choose_four_bits(alike), alike), 1e-20);
    std::vector<double> some = gaussian(64 * 16, 1.0);
    for (std::size_t i = 0; i < some.size(); i += 16) {
        some[i] = 4;
        some[i + 1] = 0;
    }
    const double step = choose_four_bits(some);
    EXPECT_GT(step, 0.2);
    EXPECT_LT(step, 0.8);
}

}  // namespace
