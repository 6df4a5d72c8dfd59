// The limits that a radius sets for a GPU's filter values (src/gpu/filter/lists/ball_bound.h), without a device: values
// at the ends of what the enclosure allows, of keys at and next to the ends of what is within.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "adversarial.h"
#include "exact/rounding.h"
#include "gpu/filter/lists/ball_bound.h"

namespace {

using namespace kith;
using adversarial::Random;

constexpr double infinity = std::numeric_limits<double>::infinity();

double excluded(const gpu::KeyImage& image, double outer) {
    return std::min(static_cast<double>(exact::round_up(gpu::excluded_above(image, outer))),
                    static_cast<double>(std::numeric_limits<float>::max()));
}
double included(const gpu::KeyImage& image, double inner) {
    return static_cast<double>(exact::round_down(gpu::included_up_to(image, inner)));
}

double magnitude(Random& random, int least, int most) {
    return std::ldexp(1 + random.uniform(), least + static_cast<int>(random.below(most - least)));
}

// Products: a - E <= w <= a + 2 F + E, with w = key c + o but for binary64's own roundings.
TEST(BallBound, OfProducts) {
    Random random(1);
    for (int turn = 0; turn < 200000; ++turn) {
        gpu::KeyImage image;
        image.scale = magnitude(random, -60, 60);
        const double key = (turn % 7 == 0 ? -1 : 1) * magnitude(random, -40, 40), size = key * image.scale;
        // Near cancellation, as of near neighbours, or not.
        image.offset =
            turn % 3 == 0 ? 0 : -size * (turn % 3 == 1 ? 1 + std::ldexp(random.uniform(), -30) : random.uniform());
        image.error = std::abs(size) * std::ldexp(random.uniform(), turn % 5 == 0 ? -60 : -12);
        const long double rounding =
            0x1p-41L * (std::fabs(static_cast<long double>(size)) + std::fabs(static_cast<long double>(image.offset)));
        const long double w = static_cast<long double>(key) * image.scale + image.offset;
        // The key is within: so is the largest value that it can have.
        const long double largest = w + rounding + image.error;
        EXPECT_LE(exact::round_down(static_cast<double>(largest)), excluded(image, key));
        // A key that is not within has no upper value up to the limit.
        const double inner = std::nextafter(key, -infinity);
        const long double least = w - rounding - image.error;
        EXPECT_GT(static_cast<double>(least), included(image, inner));
    }
}

// Sums of terms that are not negative: |a - w| <= g w + lost.
TEST(BallBound, OfDirectForms) {
    Random random(2);
    for (int turn = 0; turn < 200000; ++turn) {
        const double g = std::ldexp(random.uniform(), turn % 2 ? -10 : -20);
        gpu::KeyImage image;
        image.scale = turn % 3 ? 1 : magnitude(random, -30, 30);
        image.growth = static_cast<double>(exact::round_up((1 + g) / (1 - g)));
        image.error = std::ldexp(random.uniform(), -40);
        const double key = magnitude(random, -30, 30);
        const long double w = static_cast<long double>(key) * image.scale;
        const double largest = static_cast<double>(w * (1 + g) + image.error),
                     least = static_cast<double>(w * (1 - g) - image.error);
        EXPECT_LE(exact::round_down(largest), excluded(image, key));
        EXPECT_GT(least, included(image, std::nextafter(key, 0.0)));
    }
}

// Counts with a fraction that is below 1: those at the end are within whatever it is, those beyond are not.
TEST(BallBound, OfCounts) {
    for (const int m : {1, 64, 4096, 1 << 16}) {
        for (const double end : {0.0, 1.0, 7.0, 128.0}) {
            gpu::KeyImage image;
            image.whole = true;
            const double last = end + (m - 1.0) / m;
            for (const double key : {end, end + 0.5}) {
                EXPECT_LE(last, excluded(image, key));
                EXPECT_LT(included(image, key), end + 1);
                EXPECT_GE(included(image, key), end);
            }
            EXPECT_LT(included(image, std::nextafter(end, -1.0)), end);
        }
    }
}

TEST(BallBound, Ends) {
    gpu::KeyImage image;
    EXPECT_EQ(infinity, gpu::excluded_above(image, infinity));
    EXPECT_EQ(-infinity, gpu::excluded_above(image, -infinity));
    EXPECT_EQ(gpu::most_accepted, gpu::included_up_to(image, infinity));
    EXPECT_EQ(gpu::most_accepted, gpu::included_up_to(image, 1e300));
    EXPECT_EQ(-infinity, gpu::included_up_to(image, -infinity));
    EXPECT_EQ(-infinity, gpu::included_up_to(image, std::numeric_limits<double>::quiet_NaN()));
    image.ceiling = 100;
    EXPECT_LT(gpu::included_up_to(image, infinity), 100);
    EXPECT_LT(gpu::included_up_to(image, 1000), 100);
    image.scale = infinity;
    EXPECT_EQ(infinity, gpu::excluded_above(image, 1));
    EXPECT_EQ(-infinity, gpu::included_up_to(image, 1));
    image.scale = 0;
    EXPECT_EQ(-infinity, gpu::included_up_to(image, 1));
}

}  // namespace
