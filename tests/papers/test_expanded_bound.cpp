// The bound of squares by the expanded form (papers/distance/expanded_bound.h), attacked by products in f32 that are
// summed in several orders, fused or not, with numbers below the smallest normal one read and written as zeros or not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "adversarial.h"
#include "exact/direct_form.h"
#include "exact/rounding.h"
#include "papers/distance/expanded_bound.h"

namespace {

namespace exact = kith::exact;
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

// Thresholds from lists of the expanded form lack no neighbour, neither of its own values nor of the direct filter's,
// of rows that f32 holds and of rows that are rounded to it (docs/proofs/direct.md, lemma 4).
struct Prepared {
    std::vector<double> row;
    std::vector<float> words;
    double share = 0;  // of rounding: F, or what E has of it
};

class Thresholds {
public:
    Thresholds(std::int64_t d, bool rounded)
        : d_(d), rounded_(rounded), direct_(exact::direct_bound({.relative = 4 * 0x1p-24}, d)) {
        exact::DirectForm form;
        form.step = exact::Step::squares;
        form.degree = 2;
        cost_ = exact::rounding_cost(form, d);
        const exact::RoundedBound bound = exact::rounded_bound(cost_, direct_);
        growth_ = static_cast<double>(exact::round_up(rounded ? bound.growth : direct_.growth));
        weight_ = bound.weight;
    }
    Prepared prepared(const std::function<double()>& next) const {
        Prepared out;
        double residual2 = 0;
        for (std::int64_t i = 0; i < d_; ++i) {
            const double x = next();
            out.words.push_back(static_cast<float>(x));
            out.row.push_back(rounded_ ? x : static_cast<double>(out.words.back()));
            const double rest = out.row.back() - static_cast<double>(out.words.back());
            residual2 += rest * rest;
        }
        if (rounded_) out.share = exact::rounded_share(cost_, weight_, residual2, 0);
        return out;
    }
    void check(const Prepared& query, const std::vector<Prepared>& points, std::size_t k,
               const Arithmetic& arithmetic) const {
        const ExpandedBound bound(d_);
        const std::vector<float> origin(static_cast<std::size_t>(d_));
        const auto square_of = [&](const Prepared& p) { return static_cast<double>(square(p.words, origin)); };
        const double e = (direct_.lost + query.share + growth_ * bound.share(square_of(query))) * (1 + 0x1p-20);
        std::vector<double> values, uppers, keys;
        for (const Prepared& p : points) {
            const double f = (p.share + bound.share(square_of(p))) * (1 + 0x1p-20);
            const float h = down(square_of(p) - f);
            values.push_back(static_cast<double>(
                expanded_value(arithmetic.product(query.words, p.words), h, static_cast<float>(square_of(query)))));
            uppers.push_back(values.back() + 2 * f);
            long double key = 0;
            for (std::size_t i = 0; i < p.row.size(); ++i) {
                const long double apart = static_cast<long double>(query.row[i]) - static_cast<long double>(p.row[i]);
                key += apart * apart;
            }
            keys.push_back(static_cast<double>(key));
        }
        const auto kth = [k](std::vector<double> of) {
            std::nth_element(of.begin(), of.begin() + static_cast<std::ptrdiff_t>(k) - 1, of.end());
            return of[k - 1];
        };
        const double threshold = kth(uppers) * growth_ + 2 * e, last = kth(keys);
        for (std::size_t i = 0; i < points.size(); ++i) {
            if (keys[i] > last) continue;
            EXPECT_LE(values[i], threshold) << "d " << d_;
            float direct = 0;
            for (std::size_t j = 0; j < query.words.size(); ++j) {
                const float apart = query.words[j] - points[i].words[j];
                direct = std::fma(apart, apart, direct);
            }
            EXPECT_LE(static_cast<double>(direct + down(-points[i].share)), threshold) << "d " << d_;
        }
    }

private:
    static float down(double x) { return -exact::round_up(-x); }

    std::int64_t d_;
    bool rounded_;
    exact::DirectBound direct_;
    exact::RoundingCost cost_;
    double growth_ = 1, weight_ = 0;
};

TEST(ExpandedBound, ThresholdsLackNoNeighbour) {
    adversarial::Random random(13);
    for (const std::int64_t d : {1, 3, 20, 200})
        for (const bool rounded : {false, true}) {
            const Thresholds thresholds(d, rounded);
            // Far from the origin, where the bound is wide; near it; around one point; equal rows.
            const std::pair<double, double> means[] = {{0, 1}, {1e3, 1}, {1, 1e-6}, {1e5, 1e-3}, {3, 0}, {0, 1e-20}};
            for (const auto& [mean, deviation] : means) {
                const double m = mean, s = deviation;
                const auto next = [&] { return m + s * random.gaussian(); };
                std::vector<Prepared> points;
                for (int i = 0; i < 200; ++i) points.push_back(thresholds.prepared(next));
                for (const Arithmetic& arithmetic : arithmetics)
                    for (const std::size_t k : {std::size_t{1}, std::size_t{10}, std::size_t{200}})
                        thresholds.check(thresholds.prepared(next), points, k, arithmetic);
            }
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
