// Searches by radius whose metric was left alone: of euclidean, so that r is no square, in every entry point.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kith/index.h"
#include "kith/match.h"
#include "kith/shards.h"
#include "radius_cases.h"
#include "refusal.h"

namespace {

using kith::MetricId;
using radius_cases::difference;

struct RadiusDefault : testing::Test {
    RadiusDefault() {
        alone.device = named.device = "cpu";
        named.metric = MetricId::euclidean;
        // Distances on a lattice are roots of integers: those at just the radius are many.
        for (std::int64_t i = 0; i < n * d; ++i) points.push_back(static_cast<float>(i * 7 % 11));
        for (std::int64_t i = 0; i < q * d; ++i) queries.push_back(static_cast<float>(i * 5 % 9));
        queries[4] = std::numeric_limits<float>::quiet_NaN();
    }
    kith::MatrixView x() const { return kith::view(points.data(), n, d); }
    kith::MatrixView y() const { return kith::view(queries.data(), q, d); }

    static constexpr std::int64_t n = 300, q = 20, d = 3;
    std::vector<float> points, queries;
    kith::Options alone, named;
};

TEST_F(RadiusDefault, EveryFunction) {
    const double r = std::sqrt(21.0);
    for (const bool f64 : {false, true}) {
        alone.f64 = named.f64 = f64;
        const auto want = kith::radius(x(), y(), r, named);
        EXPECT_GT(want.offsets.back(), 0);
        EXPECT_EQ("", difference(want, kith::radius(x(), y(), r, alone)));
        EXPECT_EQ("", difference(kith::radius_graph(x(), r, named), kith::radius_graph(x(), r, alone)));
        kith::RadiusNeighbors blocks;
        kith::radius_blocks(x(), y(), r, alone, [&](const kith::RadiusRows& rows) {
            const std::int64_t count = rows.offsets[rows.count];
            blocks.ids.insert(blocks.ids.end(), rows.ids, rows.ids + count);
        });
        EXPECT_EQ(want.ids, blocks.ids);
    }
    EXPECT_EQ(kith::radius_counts(x(), y(), r, named).counts, kith::radius_counts(x(), y(), r, alone).counts);
    EXPECT_EQ(kith::radius_graph_counts(x(), r, named).counts, kith::radius_graph_counts(x(), r, alone).counts);
}

TEST_F(RadiusDefault, Shards) {
    const double r = 3;
    std::vector<std::vector<std::int64_t>> offsets, ids;
    std::vector<std::vector<double>> keys;
    kith::radius_shard(x(), 0, y(), r, alone, [&](const kith::RadiusRows& rows) {
        const std::int64_t count = rows.offsets[rows.count];
        offsets.emplace_back(rows.offsets, rows.offsets + rows.count + 1);
        ids.emplace_back(rows.ids, rows.ids + count);
        keys.emplace_back(rows.distances64, rows.distances64 + count);
    });
    ASSERT_EQ(1u, ids.size());
    const auto merged =
        kith::merge_radius({{0, q, offsets[0].data(), ids[0].data(), nullptr, keys[0].data()}}, d, alone);
    const auto want = kith::radius(x(), y(), r, named);
    EXPECT_EQ("", difference(want, merged));
    EXPECT_EQ(radius_cases::counts_of(want), kith::radius_shard_counts(x(), y(), r, alone).counts);
}

// Of an Index whose metric was left alone a search gives squares, and a radius is a distance all the same.
TEST_F(RadiusDefault, Index) {
    const double inf = std::numeric_limits<double>::infinity();
    const kith::Index index(x(), alone);
    std::vector<double> each;
    for (std::int64_t i = 0; i < q; ++i) each.push_back(std::sqrt(static_cast<double>(i)));
    for (const bool open : {false, true}) {
        for (const double r : {0.0, std::sqrt(21.0), std::nextafter(std::sqrt(21.0), 0.0), 3.0, inf, -1.0}) {
            kith::Radius radius = r < 0 ? kith::Radius(kith::view(each.data(), q, 1)) : kith::Radius(r);
            radius.open = open;
            for (const bool f64 : {false, true}) {
                kith::Options call, same;
                call.f64 = named.f64 = same.f64 = f64;
                same.metric = MetricId::euclidean;
                const auto want = kith::radius(x(), y(), radius, named);
                EXPECT_EQ("", difference(want, index.radius(y(), radius, call))) << r << open;
                EXPECT_EQ("", difference(want, index.radius(y(), radius, same))) << r << open;
                EXPECT_EQ(radius_cases::counts_of(want), index.radius_counts(y(), radius, call).counts);
                if (r < 0) continue;
                EXPECT_EQ("", difference(kith::radius_graph(x(), radius, named), index.radius_graph(radius, call)));
                EXPECT_EQ(kith::radius_graph_counts(x(), radius, named).counts,
                          index.radius_graph_counts(radius, call).counts);
            }
        }
    }
    EXPECT_EQ(kith::search(x(), y(), 2).distances, index.search(y(), 2).distances);
    EXPECT_EQ("r: -1; expected at least 0, as distances of euclidean are",
              refusals::refusal([&] { index.radius(y(), -1.0); }));
    // Whoever names squares has them.
    kith::Options squares;
    squares.device = "cpu";
    squares.metric = MetricId::sqeuclidean;
    const auto want = kith::radius(x(), y(), 3.0, squares);
    EXPECT_EQ("", difference(want, kith::Index(x(), squares).radius(y(), 3.0)));
    EXPECT_EQ("", difference(want, index.radius(y(), 3.0, squares)));
    squares.metric = MetricId::cosine;
    EXPECT_EQ("metric: cosine; this index was prepared for sqeuclidean",
              refusals::refusal([&] { index.radius(y(), 3.0, squares); }));
}

// Parameters of another metric than the usual one are not dropped.
TEST_F(RadiusDefault, ParametersOfNoMetricAreRefused) {
    alone.metric.p = 3;
    const char* const expected = "p: serves minkowski, not euclidean";
    EXPECT_EQ(expected, refusals::refusal([&] { kith::radius(x(), x(), 1.0, alone); }));
    kith::MatchOptions match;
    match.search = alone;
    EXPECT_EQ(expected, refusals::refusal([&] { kith::match(x(), x(), match); }));
}

}  // namespace
