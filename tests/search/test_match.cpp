// Matches of two sets of features: by the definition in plain loops, with ties, NaN and refusals.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <tuple>

#include "kith/kith.h"
#include "kith/match.h"
#include "refusal.h"

namespace {

using namespace kith;

// Small whole numbers: exact in any type, with many ties.
std::vector<float> features(std::int64_t rows, std::int64_t d, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<float> out(static_cast<std::size_t>(rows * d));
    for (float& v : out) v = static_cast<float>(random() % 8);
    return out;
}

struct Sets {
    std::int64_t n, m, d;
    std::vector<float> a, b;
    MatrixView first() const { return view(a.data(), n, d); }
    MatrixView second() const { return view(b.data(), m, d); }
};

std::vector<std::tuple<std::int64_t, std::int64_t, double>> by_definition(const Sets& s, std::optional<double> ratio,
                                                                          bool mutual) {
    const auto distance = [&](std::int64_t i, std::int64_t j) {
        double sum = 0;
        for (std::int64_t c = 0; c < s.d; ++c) {
            const double t = double(s.a[std::size_t(i * s.d + c)]) - s.b[std::size_t(j * s.d + c)];
            sum += t * t;
        }
        return std::sqrt(sum);
    };
    std::vector<std::tuple<std::int64_t, std::int64_t, double>> out;
    for (std::int64_t i = 0; i < s.n; ++i) {
        std::int64_t nearest = -1;
        double first = std::numeric_limits<double>::infinity(), second = first;
        for (std::int64_t j = 0; j < s.m; ++j) {
            const double here = distance(i, j);
            if (std::isnan(here)) continue;
            if (here < first || nearest < 0) {
                second = first;
                first = here;
                nearest = j;
            } else {
                second = std::min(second, here);
            }
        }
        if (nearest < 0 || (ratio && !(first < *ratio * second))) continue;
        bool back = true;
        for (std::int64_t other = 0; other < s.n; ++other)
            if (distance(other, nearest) < first || (distance(other, nearest) == first && other < i)) back = false;
        if (!mutual || back) out.emplace_back(i, nearest, first);
    }
    return out;
}

Options on_cpu() {
    Options options;
    options.device = "cpu";
    return options;
}

TEST(Match, IsItsDefinition) {
    Sets s{90, 70, 5, features(90, 5, 1), features(70, 5, 2)};
    s.a[3 * 5] = std::numeric_limits<float>::quiet_NaN();
    s.b[9 * 5 + 4] = std::numeric_limits<float>::quiet_NaN();
    for (const std::optional<double> ratio :
         {std::optional<double>(0.5), std::optional<double>(0.8), std::optional<double>(1), std::optional<double>()}) {
        for (const bool mutual : {false, true}) {
            const auto want = by_definition(s, ratio, mutual);
            const Matches got = match(s.first(), s.second(), {ratio, mutual, on_cpu()});
            ASSERT_EQ(want.size(), got.first.size()) << ratio.value_or(0) << mutual;
            EXPECT_EQ(got.first.size(), got.second.size());
            for (std::size_t i = 0; i < want.size(); ++i)
                EXPECT_EQ(want[i], std::tuple(got.first[i], got.second[i], got.distances[i]))
                    << ratio.value_or(0) << mutual;
            EXPECT_EQ(90, got.report.queries);
        }
    }
}

// The rows of a permuted copy find each other.
TEST(Match, FindsACopy) {
    constexpr std::int64_t n = 200, d = 16;
    std::mt19937 random(4);
    std::normal_distribution<float> normal;
    Sets s{n, n, d, std::vector<float>(n * d), std::vector<float>(n * d)};
    for (float& v : s.a) v = normal(random);
    for (std::int64_t i = 0; i < n; ++i) std::copy_n(s.a.begin() + i * d, d, s.b.begin() + (i * 7 % n) * d);
    const Matches got = match(s.first(), s.second(), {0.8, true, on_cpu()});
    ASSERT_EQ(std::size_t(n), got.first.size());
    for (std::int64_t i = 0; i < n; ++i) {
        EXPECT_EQ(i, got.first[std::size_t(i)]);
        EXPECT_EQ(i * 7 % n, got.second[std::size_t(i)]);
        EXPECT_EQ(0, got.distances[std::size_t(i)]);
    }
}

TEST(Match, RefusesWhatMakesNoSense) {
    const Sets s{4, 3, 2, features(4, 2, 5), features(3, 2, 6)};
    const auto refusal = [&](const MatrixView& b, const MatchOptions& options) {
        return refusals::refusal([&] { match(s.first(), b, options); });
    };
    EXPECT_NE(std::string::npos, refusal(s.second(), {0.0, false, on_cpu()}).find("ratio: 0"));
    EXPECT_NE(std::string::npos, refusal(s.second(), {NAN, false, on_cpu()}).find("ratio"));
    EXPECT_NE(std::string::npos, refusal(view(s.b.data(), 1, 2), {0.8, false, on_cpu()}).find("b: 1 rows"));
    EXPECT_NE(std::string::npos, refusal(view(s.b.data(), 2, 3), {}).find("b: 3 columns"));
    Options product = on_cpu();
    product.metric = MetricId::inner_product;
    EXPECT_NE(std::string::npos, refusal(s.second(), {0.8, false, product}).find("inner_product"));
    EXPECT_EQ("", refusal(s.second(), {{}, true, product}));
    Options estimated = on_cpu();
    estimated.metric = MetricId::seuclidean;
    EXPECT_NE(std::string::npos, refusal(s.second(), {{}, true, estimated}).find("seuclidean"));
}

}  // namespace
