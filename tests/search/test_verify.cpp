// verify() and verify_graph(): what search() and graph() return is exact, what was tampered with is not, and why.
#include "kith/verify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kith/kith.h"
#include "refusal.h"
#include "search_cases.h"

namespace {

using kith::DistancesCompared;
using kith::FoundNeighbors;
using kith::MetricId;
using kith::Neighbors;
using kith::Verification;
using kith::VerifyOptions;

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

VerifyOptions options_of(const kith::Options& search) {
    VerifyOptions options;
    options.search = search;
    return options;
}

// Small whole numbers, of which many are equally far apart; some rows have a NaN.
struct Lattice {
    Lattice(std::int64_t n_, std::int64_t q_, std::int64_t d_) : n(n_), q(q_), d(d_) {
        for (std::int64_t i = 0; i < n * d; ++i) points.push_back(static_cast<float>(i * 7 % 11 % 4));
        for (std::int64_t i = 0; i < q * d; ++i) queries.push_back(static_cast<float>(i * 5 % 9 % 4));
        options.device = "cpu";
    }
    kith::MatrixView x() const { return kith::view(points.data(), n, d); }
    kith::MatrixView y() const { return kith::view(queries.data(), q, d); }
    Verification judged(const FoundNeighbors& found, VerifyOptions how = {}) const {
        how.search = options;
        return kith::verify(x(), y(), found, how);
    }
    Verification graph(const FoundNeighbors& found, VerifyOptions how = {}) const {
        how.search = options;
        return kith::verify_graph(x(), found, how);
    }

    std::int64_t n, q, d;
    std::vector<float> points, queries;
    kith::Options options;
};

class EveryMetric : public testing::TestWithParam<std::string> {};

// Of every metric and element type, graphs with and without themselves, f32 and f64, whole and sampled.
TEST_P(EveryMetric, WhatIsFoundIsExact) {
    for (const char* data : {"lattice", "gaussian", "duplicates", "nan_rows", "infinities"}) {
        for (const kith::ElementType type : {kith::ElementType::f32, kith::ElementType::u8}) {
            const std::int64_t d = GetParam() == "haversine" ? 2 : 5;
            const Variant variant = variants(GetParam(), d, type).front();
            auto c = search_cases::make_case(variant, data, {60, 9, d, 7}, type, type, arrays::Shape::dense, 3);
            for (const bool f64 : {false, true}) {
                kith::Options options;
                options.device = "cpu";
                options.metric = c.variant.metric;
                options.f64 = f64;
                const Neighbors found = kith::search(c.points.view, c.queries.view, 7, options);
                const Verification v = kith::verify(c.points.view, c.queries.view, found, options_of(options));
                EXPECT_TRUE(v.is_exact()) << c.label << (v.first_wrong.empty() ? "" : v.first_wrong.front().why);
                EXPECT_EQ(0, v.tied);
                EXPECT_EQ(9 * 7, v.distances);
                EXPECT_EQ(1, v.recall());
                EXPECT_TRUE(f64 || v.compared == DistancesCompared::f32);
                for (const bool with_self : {false, true}) {
                    options.include_self = with_self;
                    const Neighbors graph = kith::graph(c.points.view, 5, options);
                    for (const std::int64_t sample : {0, 7}) {
                        VerifyOptions how = options_of(options);
                        how.sample = sample;
                        const Verification g = kith::verify_graph(c.points.view, graph, how);
                        EXPECT_TRUE(g.is_exact())
                            << c.label << (g.first_wrong.empty() ? "" : g.first_wrong.front().why);
                        EXPECT_EQ(with_self, g.include_self);
                        EXPECT_EQ(sample ? sample : 60, g.rows);
                    }
                }
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Verify, EveryMetric, testing::ValuesIn(metric_names()),
                         [](const auto& info) { return info.param; });

// One point, one valid row among NaN, none at all.
TEST(Verify, GraphsWithoutNeighbours) {
    for (const std::int64_t n : {1, 2, 5}) {
        for (std::int64_t valid = 0; valid <= std::min<std::int64_t>(n, 2); ++valid) {
            Lattice c(n, 1, 2);
            for (std::int64_t i = valid; i < n; ++i) c.points[static_cast<std::size_t>(2 * i)] = nan;
            for (const bool with_self : {false, true}) {
                for (const std::int64_t k : {1, 3}) {
                    c.options.include_self = with_self;
                    const Neighbors found = kith::graph(c.x(), k, c.options);
                    VerifyOptions told;
                    told.include_self = with_self;
                    for (const VerifyOptions& how : {VerifyOptions{}, told}) {
                        const Verification v = c.graph(found, how);
                        EXPECT_EQ(n, v.exact) << n << valid << with_self << k;
                        EXPECT_EQ(with_self && valid > 0, v.include_self && valid > 0);
                    }
                    Neighbors other = found;
                    other.ids.back() = other.ids.back() < 0 ? 0 : -1;
                    EXPECT_EQ(1, c.graph(other).wrong) << n << valid << with_self << k;
                    if (valid == n) continue;
                    // A point with a NaN says nothing of the others by listing itself.
                    other = found;
                    other.ids[static_cast<std::size_t>((n - 1) * k)] = n - 1;
                    EXPECT_EQ(std::vector<std::int64_t>{n - 1}, c.graph(other).wrong_rows) << n << valid << with_self;
                }
            }
        }
    }
}

// The first column of a graph with itself is compared like any other.
TEST(Verify, OwnPointsAreCompared) {
    Lattice c(50, 1, 3);
    c.points[7 * 3] = nan;
    c.options.include_self = true;
    const Neighbors found = kith::graph(c.x(), 4, c.options);
    ASSERT_TRUE(c.graph(found).is_exact());

    Neighbors gone = found;
    for (std::int64_t i = 1; i < c.n; ++i) gone.ids[static_cast<std::size_t>(i * 4)] = -1;
    const Verification v = c.graph(gone);
    EXPECT_EQ(48, v.wrong);  // all but row 0 and that of the NaN
    EXPECT_EQ(1, v.wrong_rows.front());
    EXPECT_EQ("the row begins with id -1; expected its own point 1", v.first_wrong.front().why);
    EXPECT_EQ(10u, v.first_wrong.size());

    Neighbors listed = found;
    listed.ids[7 * 4] = 7;
    listed.distances[7 * 4] = 123;
    EXPECT_EQ(std::vector<std::int64_t>{7}, c.graph(listed).wrong_rows);
    refusals::expect_words(c.graph(listed).first_wrong.front().why, {"begins with id 7", "NaN"});

    Neighbors far = found;
    far.distances[20 * 4] = 0.5f;
    EXPECT_EQ(std::vector<std::int64_t>{20}, c.graph(far).wrong_rows);
    EXPECT_EQ("the distance at place 1 is 0.5; expected 0", c.graph(far).first_wrong.front().why);

    Neighbors twice = found;
    twice.ids[20 * 4 + 2] = 20;
    EXPECT_EQ("point 20 lists itself", c.graph(twice).first_wrong.front().why);
    VerifyOptions told;
    told.include_self = false;
    EXPECT_EQ("point 0 lists itself", c.graph(found, told).first_wrong.front().why);
}

TEST(Verify, TiesAreCounted) {
    Lattice c(40, 1, 1);
    const Neighbors found = kith::search(c.x(), c.y(), 12, c.options);
    Neighbors swapped = found;
    std::size_t at = 1;
    while (found.distances[at] != found.distances[at + 1]) ++at;
    std::swap(swapped.ids[at], swapped.ids[at + 1]);
    Verification v = c.judged(swapped);
    EXPECT_TRUE(v.is_exact());
    EXPECT_EQ(1, v.tied);
    EXPECT_EQ(1, v.recall());
    EXPECT_STREQ("exact up to ties listed in another order", v.verdict());
    // A point that is as near as the last, and was not listed.
    swapped = found;
    std::int64_t other = 0;
    const auto listed = [&](std::int64_t id) { return std::find(found.ids.begin(), found.ids.end(), id); };
    while (listed(other) != found.ids.end() ||
           std::pow(c.points[static_cast<std::size_t>(other)] - c.queries[0], 2) != found.distances.back())
        ++other;
    swapped.ids.back() = other;
    v = c.judged(swapped);
    EXPECT_EQ(1, v.tied);
    EXPECT_EQ(1, v.recall());
}

// Roots round away what the order knows: no tie.
TEST(Verify, EqualRootsAreNoTie) {
    const std::vector<double> points{1.0, std::sqrt(3.0) * 0x1p-26, 1.0, std::exp2(-25.5)}, origin{0, 0};
    const kith::MatrixView x = kith::view(points.data(), 2, 2), y = kith::view(origin.data(), 1, 2);
    kith::Options options;
    options.device = "cpu";
    options.metric = MetricId::euclidean;
    options.f64 = true;
    Neighbors found = kith::search(x, y, 1, options);
    ASSERT_EQ(1, found.ids[0]);
    found.ids[0] = 0;
    const Verification v = kith::verify(x, y, found, options_of(options));
    EXPECT_FALSE(v.is_exact());
    refusals::expect_words(v.first_wrong.front().why, {"id 0", "farther than id 1", "round to the same"});
}

TEST(Verify, EveryFaultIsNamed) {
    Lattice c(60, 6, 3);
    c.points[9 * 3] = nan;
    c.queries[5 * 3] = nan;
    const Neighbors found = kith::search(c.x(), c.y(), 5, c.options);
    ASSERT_TRUE(c.judged(found).is_exact());
    const auto fault = [&](std::int64_t row, std::int64_t place, std::int64_t id) {
        Neighbors other = found;
        other.ids[static_cast<std::size_t>(row * 5 + place)] = id;
        const Verification v = c.judged(FoundNeighbors(kith::view(other.ids.data(), 6, 5)));
        EXPECT_EQ(std::vector<std::int64_t>{row}, v.wrong_rows);
        EXPECT_EQ(DistancesCompared::none, v.compared);
        EXPECT_LT(v.recall(), row == 5 ? 1.1 : 1);
        return v.first_wrong.front().why;
    };
    EXPECT_EQ("id 60 is none of the 60 points", fault(1, 2, 60));
    EXPECT_EQ("id -2 is none of the 60 points", fault(1, 2, -2));
    EXPECT_EQ("id -9223372036854775808 is none of the 60 points",
              fault(1, 2, std::numeric_limits<std::int64_t>::min()));
    EXPECT_EQ("point 9 has no distance to the query (NaN)", fault(1, 2, 9));
    EXPECT_EQ("no neighbour is listed at place 5, where there is one", fault(2, 4, -1));
    EXPECT_EQ("id 3 is listed, and the query has a NaN", fault(5, 0, 3));
    EXPECT_EQ("id " + std::to_string(found.ids[0]) + " is listed twice", fault(0, 1, found.ids[0]));

    Neighbors turned = found;
    std::reverse(turned.ids.begin(), turned.ids.begin() + 5);
    const Verification v = c.judged(FoundNeighbors(kith::view(turned.ids.data(), 6, 5)));
    if (!v.is_exact()) refusals::expect_words(v.first_wrong.front().why, {"not in the order"});
    EXPECT_EQ(1, v.recall());
}

// By which rounding distances are compared, and what is wrong with them.
TEST(Verify, Distances) {
    Lattice c(60, 6, 3);
    for (float& x : c.points) x += 0.1f;
    Neighbors found = kith::search(c.x(), c.y(), 5, c.options);
    const kith::MatrixView ids = kith::view(found.ids.data(), 6, 5);
    std::vector<double> wide(found.distances.begin(), found.distances.end());
    const auto judged = [&] { return c.judged(FoundNeighbors(ids, kith::view(wide.data(), 6, 5))); };
    EXPECT_EQ(DistancesCompared::f32, judged().compared);
    EXPECT_TRUE(judged().is_exact());

    c.options.f64 = true;
    wide = kith::search(c.x(), c.y(), 5, c.options).distances64;
    EXPECT_EQ(DistancesCompared::f64, judged().compared);
    EXPECT_TRUE(judged().is_exact());
    wide[17] = std::nextafter(wide[17], infinity);
    Verification v = judged();
    EXPECT_EQ((std::vector<std::int64_t>{3}), v.wrong_rows);
    EXPECT_EQ(std::make_pair(std::int64_t{1}, std::int64_t{1}), std::make_pair(v.different, v.largest_ulp));
    EXPECT_EQ(1, v.only_distances);
    EXPECT_EQ(2, v.first_wrong.front().place);

    // The order of the contract knows one zero.
    for (const auto type : {DistancesCompared::f32, DistancesCompared::f64}) {
        Lattice own(60, 60, 3);
        for (std::size_t i = 0; i < own.points.size(); ++i) own.points[i] += 0.1f * static_cast<float>(i % 7);
        own.queries = own.points;
        own.options.f64 = type == DistancesCompared::f64;
        const Neighbors two = kith::search(own.x(), own.y(), 2, own.options);
        std::vector<double> zeros(two.distances.begin(), two.distances.end());
        if (own.options.f64) zeros = two.distances64;
        std::ranges::replace(zeros, 0.0, -0.0);
        EXPECT_LE(60, std::ranges::count(zeros, 0.0));
        v = own.judged(FoundNeighbors(kith::view(two.ids.data(), 60, 2), kith::view(zeros.data(), 60, 2)));
        EXPECT_EQ(type, v.compared);
        EXPECT_EQ(std::make_pair(std::int64_t{120}, std::int64_t{0}), std::make_pair(v.distances, v.different));
        EXPECT_TRUE(v.is_exact());
    }

    for (float& d : found.distances) d = 777;
    v = c.judged(found);
    EXPECT_FALSE(v.is_exact());
    EXPECT_EQ(6, v.wrong);
    EXPECT_EQ(30, v.different);
    refusals::expect_words(v.first_wrong.front().why, {"place 1 is 777"});
    found.distances.assign(30, nan);
    EXPECT_EQ(30, c.judged(found).nan);
    EXPECT_EQ(1, c.judged(found).recall());
}

// Those of others are held to a thousandth of the largest.
TEST(Verify, DistancesOfOthers) {
    Lattice c(60, 6, 3);
    Neighbors found = kith::search(c.x(), c.y(), 5, c.options);
    const float largest = *std::max_element(found.distances.begin(), found.distances.end());
    VerifyOptions others;
    others.distances_of_others = true;
    found.distances[7] += largest * 0x1p-12f;
    EXPECT_FALSE(c.judged(found).is_exact());
    EXPECT_TRUE(c.judged(found, others).is_exact());
    EXPECT_EQ(DistancesCompared::nearly, c.judged(found, others).compared);
    EXPECT_GT(c.judged(found, others).largest_share, 0);
    found.distances[7] += largest * 0x1p-8f;
    const Verification v = c.judged(found, others);
    EXPECT_EQ(std::vector<std::int64_t>{1}, v.wrong_rows);
    EXPECT_EQ(1, v.different);
}

TEST(Verify, Samples) {
    Lattice c(60, 10, 3);
    Neighbors found = kith::search(c.x(), c.y(), 5, c.options);
    std::fill_n(found.ids.begin() + 5, 5, -1);  // row 1
    VerifyOptions how;
    how.sample = 5;  // rows 0, 2, 4, ...
    Verification v = c.judged(found, how);
    EXPECT_EQ(std::make_pair(std::int64_t{5}, std::int64_t{10}), std::make_pair(v.rows, v.all_rows));
    EXPECT_TRUE(v.is_exact());
    how.sample = 1000;
    EXPECT_EQ(std::vector<std::int64_t>{1}, c.judged(found, how).wrong_rows);
    how.described = 0;
    EXPECT_TRUE(c.judged(found, how).first_wrong.empty());
}

TEST(Verify, Refused) {
    Lattice c(10, 4, 3);
    const Neighbors found = kith::search(c.x(), c.y(), 2, c.options);
    const kith::MatrixView ids = kith::view(found.ids.data(), 4, 2);
    const auto refused = [&](const FoundNeighbors& given, const VerifyOptions& how = {}) {
        return refusals::refusal_of([&] { c.judged(given, how); });
    };
    EXPECT_EQ("ids: 2 x 4; expected 4 x 4", refused(kith::view(found.ids.data(), 2, 4)));
    EXPECT_EQ("ids: 0 columns; expected at least 1", refused(kith::view(found.ids.data(), 4, 0)));
    EXPECT_EQ("ids: elements are f32; expected i64", refused(kith::view(found.distances.data(), 4, 2)));
    EXPECT_EQ("ids: data is null; expected 4 x 2 elements",
              refused(kith::view(static_cast<const std::int64_t*>(nullptr), 4, 2)));
    EXPECT_EQ("distances: 2 x 2; expected 4 x 2",
              refused(FoundNeighbors(ids, kith::view(found.distances.data(), 2, 2))));
    EXPECT_EQ("distances: elements are i64; expected f32 or f64", refused(FoundNeighbors(ids, ids)));
    VerifyOptions negative;
    negative.sample = -1;
    EXPECT_EQ("sample: -1; expected rows, or 0 for all", refused(found, negative));
    refusals::expect_words(refusals::refusal_of([&] { kith::verify_graph(c.x(), found); }), {"ids: 4 x 2", "10 x 2"});
}

}  // namespace
