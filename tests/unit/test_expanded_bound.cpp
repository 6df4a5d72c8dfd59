// The bound of squares by the expanded form (gpu/distance/expanded_bound.h), attacked by products in f32 that are
// summed in several orders, fused or not, with numbers below the smallest normal one read and written as zeros or not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "adversarial.h"
#include "gpu/distance/expanded_bound.h"

namespace {

using kith::gpu::distance::expanded_value;
using kith::gpu::distance::ExpandedBound;

struct Arithmetic {
    bool fused, flushed;
    std::size_t parts;  // sums of as many parts, joined at the end

    float seen(float x) const { return flushed && std::abs(x) < std::numeric_limits<float>::min() ? 0.0f : x; }
    float product(const std::vector<float>& q, const std::vector<float>& x) const {
        std::vector<float> sums(parts);
        for (std::size_t i = 0; i < q.size(); ++i) {
            float& sum = sums[i % parts];
            const float a = seen(q[i]), b = seen(x[i]);
            sum = seen(fused ? std::fma(a, b, sum) : sum + seen(a * b));
        }
        float all = 0;
        for (const float sum : sums) all = seen(all + sum);
        return -2 * all;
    }
};

const Arithmetic arithmetics[] = {{true, false, 1}, {false, false, 1}, {true, false, 4},
                                  {false, true, 3}, {true, true, 1},   {false, false, 64}};

std::vector<float> row(std::size_t d, const std::function<double()>& next) {
    std::vector<float> out(d);
    for (float& x : out) x = static_cast<float>(next());
    return out;
}

long double square(const std::vector<float>& q, const std::vector<float>& x) {
    long double sum = 0;
    for (std::size_t i = 0; i < q.size(); ++i) {
        const long double apart = static_cast<long double>(q[i]) - static_cast<long double>(x[i]);
        sum += apart * apart;
    }
    return sum;
}

// The enclosure, with the roundings of the device's terms; the largest share of the bound that is used.
double used(const std::vector<float>& q, const std::vector<float>& x, const Arithmetic& arithmetic) {
    const std::vector<float> origin(q.size());
    const ExpandedBound bound(static_cast<std::int64_t>(q.size()));
    const auto q2 = static_cast<double>(square(q, origin)), x2 = static_cast<double>(square(x, origin));
    const double f = bound.share(x2) * (1 + 0x1p-20), e = bound.share(q2) * (1 + 0x1p-20);
    auto h = static_cast<float>(x2 - f);
    if (static_cast<double>(h) > x2 - f) h = std::nextafter(h, -std::numeric_limits<float>::infinity());
    const float a = expanded_value(arithmetic.product(q, x), h, static_cast<float>(q2));
    const long double w = square(q, x);
    // a - E <= w <= a + 2 F + E, as |a + F - w| <= E + F.
    const long double error = std::abs(static_cast<long double>(a) + f - w);
    EXPECT_LE(error, static_cast<long double>(f) + e) << "d " << q.size();
    return static_cast<double>(error / (static_cast<long double>(f) + e));
}

TEST(ExpandedBound, HoldsInAnyOrder) {
    adversarial::Random random(11);
    const auto gaussian = [&] { return random.gaussian(); };
    double most = 0;
    for (const std::size_t d : {1, 2, 3, 15, 33, 128, 1000}) {
        for (const Arithmetic& arithmetic : arithmetics)
            for (int turn = 0; turn < 200; ++turn) {
                const std::vector<float> q = row(d, gaussian);
                const auto check = [&](const std::function<double(std::size_t)>& x) {
                    std::vector<float> point(d);
                    for (std::size_t i = 0; i < d; ++i) point[i] = static_cast<float>(x(i));
                    most = std::max(most, used(q, point, arithmetic));
                };
                check([&](std::size_t) { return random.gaussian(); });
                // All but equal, opposite, all of one sign and far from the origin.
                check([&](std::size_t i) { return static_cast<double>(q[i]) * (1 + 1e-7 * random.gaussian()); });
                check([&](std::size_t i) { return -static_cast<double>(q[i]); });
                check([&](std::size_t i) { return 1e4 + static_cast<double>(q[i]); });
                // Much longer, much shorter, and one product that outweighs the others.
                check([&](std::size_t i) { return 1e12 * static_cast<double>(q[i]); });
                check([&](std::size_t i) { return 1e-12 * static_cast<double>(q[i]); });
                check([&](std::size_t i) { return i == 0 ? 1e6 : random.gaussian(); });
            }
    }
    EXPECT_GT(most, 0.05);  // the attacks come near
    RecordProperty("most_of_bound", std::to_string(most));
}

TEST(ExpandedBound, HoldsAtBothEndsOfTheRange) {
    adversarial::Random random(12);
    for (const std::size_t d : {1, 4, 100}) {
        for (const Arithmetic& arithmetic : arithmetics)
            for (const double scale : {0x1p-149, 0x1p-130, 0x1p-100, 0x1p-74, 0x1p-62, 0x1p30, 0x1p45})
                for (int turn = 0; turn < 50; ++turn) {
                    const auto next = [&] { return scale * random.gaussian(); };
                    const std::vector<float> q = row(d, next), x = row(d, next);
                    used(q, x, arithmetic);
                    used(q, row(d, [&] { return random.gaussian(); }), arithmetic);
                }
    }
}

// Rows whose order of terms leaves the largest error of a sum: all roundings in one direction.
TEST(ExpandedBound, HoldsWhereEveryStepRoundsTheSameWay) {
    for (const std::size_t d : {16, 256, 4096}) {
        std::vector<float> q(d, 1.0f), x(d, 1.0f);
        for (std::size_t i = 1; i < d; ++i) x[i] = 1.0f + 0x1p-23f;
        for (const Arithmetic& arithmetic : arithmetics) used(q, x, arithmetic);
        for (std::size_t i = 1; i < d; ++i) x[i] = 0x1.8p-24f;
        for (const Arithmetic& arithmetic : arithmetics) used(q, x, arithmetic);
    }
}

TEST(ExpandedBound, InfinitiesOfAPointStay) {
    constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    for (const float product : {0.0f, 1e38f, -infinity, infinity, nan}) {
        EXPECT_EQ(infinity, expanded_value(product, infinity, 1));
        EXPECT_EQ(-infinity, expanded_value(product, -infinity, 1));
    }
    EXPECT_EQ(std::numeric_limits<float>::max(), expanded_value(nan, 1, 1));
    EXPECT_EQ(std::numeric_limits<float>::max(), expanded_value(infinity, 1, 1));
    EXPECT_EQ(2.0f, expanded_value(-1, 1, 2));
}

}  // namespace
