// The range of binary64: distances of vectors whose squares (powers, products) are beyond it are those of the same
// vectors within it, by every entry; and equal vectors are at distance 0.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "kith/batches.h"
#include "kith/distances.h"
#include "kith/index.h"
#include "kith/match.h"
#include "kith/shards.h"
#include "same_answer.h"
#include "search_cases.h"

namespace {

using search_cases::ElementType;

constexpr double infinity = std::numeric_limits<double>::infinity();
// Keys that are no powers hold distances with 48 significant bits.
constexpr double rounding = 0x1p-48;

kith::Options of(const kith::Metric& metric) {
    kith::Options options;
    options.device = "cpu";
    options.metric = metric;
    options.f64 = true;
    return options;
}

std::vector<double> gaussian(std::int64_t count, std::uint64_t seed) {
    adversarial::Random random(seed);
    std::vector<double> values(static_cast<std::size_t>(count));
    for (double& v : values) v = random.gaussian();
    return values;
}

double distance(const std::vector<double>& q, const std::vector<double>& x, const kith::Options& options) {
    const auto d = static_cast<std::int64_t>(q.size());
    return kith::search(kith::view(x.data(), 1, d), kith::view(q.data(), 1, d), 1, options).distances64[0];
}

class RangeOfMetric : public testing::TestWithParam<std::string> {};

// A vector is nowhere nearer than at itself, in every element type and on every path.
TEST_P(RangeOfMetric, EqualVectorsAreAtDistanceZero) {
    // Products; divergences of what is no distribution; sets, many of which are equal.
    const std::string& name = GetParam();
    if (name == "inner_product" || name == "kl_divergence") return;
    const bool sets = name == "jaccard" || name == "dice";
    for (const ElementType type : {ElementType::f64, ElementType::f32, ElementType::u8}) {
        for (const Variant& variant : variants(GetParam(), 19, type)) {
            const auto c =
                search_cases::make_case(variant, "gaussian", {400, 1, 19, 1}, type, type, arrays::Shape::dense, 11);
            for (const char* path : {"", "exact"}) {
                kith::Options options = of(variant.metric);
                options.path = path;
                const auto found = kith::search(c.points.view, c.points.view, 1, options);
                for (std::size_t i = 0; i < found.ids.size(); ++i)
                    ASSERT_EQ(0.0, found.distances64[i]) << variant.label << ", row " << i;
                if (type != ElementType::f64 || sets) continue;
                for (std::size_t i = 0; i < found.ids.size(); ++i)
                    ASSERT_EQ(static_cast<std::int64_t>(i), found.ids[i]) << variant.label;
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Metric, RangeOfMetric, testing::ValuesIn(metric_names()),
                         [](const auto& info) { return info.param; });

TEST(Range, OfNamedVectors) {
    const auto cosine = of(kith::MetricId::cosine), euclidean = of(kith::MetricId::euclidean);
    for (const double size : {1e160, 1e-170, 1e308, 5e-324}) {
        const std::vector<double> v = {size, size}, along = {1, 1}, across = {-size, size};
        EXPECT_EQ(0.0, distance(v, v, cosine)) << size;
        EXPECT_EQ(0.0, distance(v, along, cosine)) << size;
        EXPECT_EQ(1.0, distance(across, along, cosine)) << size;
        for (const auto metric : {kith::MetricId::correlation, kith::MetricId::jensenshannon}) {
            EXPECT_EQ(0.0, distance({size, 0, size}, {size, 0, size}, of(metric))) << size;
            EXPECT_GT(1e-7, distance({size, 0, size}, {2, 0, 2}, of(metric))) << size;
        }
        EXPECT_EQ(0.0, distance(v, v, euclidean)) << size;
    }
    const double root = std::sqrt(2.0);
    EXPECT_NEAR(root, distance({1e160, 1e160}, {0, 0}, euclidean) / 1e160, rounding);
    EXPECT_NEAR(root, distance({1e-170, 0}, {0, 1e-170}, euclidean) / 1e-170, rounding);
    EXPECT_NEAR(5, distance({3e200, 0}, {0, 4e200}, euclidean) / 1e200, 5 * rounding);
    EXPECT_EQ(0x1p-1074, distance({0x1p-1074}, {0}, euclidean));
    EXPECT_NEAR(1, distance({0x1.fffffffffffffp+1023}, {0}, euclidean) / 0x1.fffffffffffffp+1023, rounding);
    EXPECT_EQ(infinity, distance({1.7e308}, {-1.7e308}, euclidean));
    // It is a square that is reported.
    EXPECT_EQ(infinity, distance({1e160}, {0}, of(kith::MetricId::sqeuclidean)));
    kith::Metric minkowski(kith::MetricId::minkowski);
    minkowski.p = 50;
    EXPECT_NEAR(1e8 * std::pow(2, 0.02), distance({1e8, 0}, {0, 1e8}, of(minkowski)), 1);
    EXPECT_NEAR(1e-8 * std::pow(2, 0.02), distance({1e-8, 0}, {0, 1e-8}, of(minkowski)), 1e-16);
    minkowski.p = 1e6;
    EXPECT_NEAR(7, distance({5, 7}, {0, 0}, of(minkowski)), 1e-4);
    // 1e-200 log(1e-360), 1e200 log(1e400).
    const auto kl = of(kith::MetricId::kl_divergence);
    EXPECT_NEAR(-360 * std::log(10.0), distance({1e-200}, {1e160}, kl) / 1e-200, 1e-10);
    EXPECT_NEAR(400 * std::log(10.0), distance({1e200}, {1e-200}, kl) / 1e200, 1e-10);
}

// Points of metrics whose distance grows with the vectors: times a power of two they have the same neighbours, at as
// many times the distances.
TEST(Range, APowerOfTwoChangesNothing) {
    constexpr std::int64_t n = 300, q = 40, d = 7, k = 9;
    std::vector<double> points = gaussian(n * d, 1), queries = gaussian(q * d, 2);
    for (auto* values : {&points, &queries})
        for (double& v : *values) v = std::abs(v);
    for (const char* name : {"euclidean", "seuclidean", "mahalanobis", "minkowski", "hellinger"}) {
        for (const Variant& variant : variants(name, d, ElementType::f64)) {
            if (variant.metric.p == 1 || std::isinf(variant.metric.p)) continue;
            const auto want =
                kith::search(kith::view(points.data(), n, d), kith::view(queries.data(), q, d), k, of(variant.metric));
            for (const int exponent : {540, -560, 900, -900}) {
                // The root of a coordinate is what counts.
                const int own = variant.name == "hellinger" ? exponent / 2 : exponent;
                if (variant.label.find("tiny") != std::string::npos || variant.label.find("huge") != std::string::npos)
                    continue;
                std::vector<double> p = points, s = queries;
                for (auto* values : {&p, &s})
                    for (double& v : *values) v = std::ldexp(v, exponent);
                const auto got =
                    kith::search(kith::view(p.data(), n, d), kith::view(s.data(), q, d), k, of(variant.metric));
                EXPECT_EQ(want.ids, got.ids) << variant.label << ", 2^" << exponent;
                for (std::size_t i = 0; i < want.ids.size(); ++i)
                    ASSERT_NEAR(1, std::ldexp(got.distances64[i], -own) / want.distances64[i],
                                variant.name == "minkowski" ? 1e-12 : 2 * rounding)
                        << variant.label << ", 2^" << exponent;
                EXPECT_EQ(q, got.report.certified + got.report.retried + got.report.scanned);
            }
        }
    }
}

// A few rows that stand for no value leave all others their neighbours and their filter.
TEST(Range, SentinelsSpoilNothing) {
    constexpr std::int64_t n = 2000, d = 16, k = 5;
    std::vector<double> points = gaussian(n * d, 3);
    for (const std::int64_t row : {std::int64_t{0}, n / 2, n - 1})
        for (std::int64_t j = 0; j < d; ++j)
            points[row * d + j] = row == 0 ? 1e200 : std::numeric_limits<double>::max();
    const kith::MatrixView view = kith::view(points.data(), n, d);
    const auto found = kith::graph(view, k, of(kith::MetricId::euclidean));
    EXPECT_EQ(3, found.report.scanned);
    EXPECT_EQ("", Truth("euclidean", {}, view, view, k, true).difference(found));
    // Of equal sentinels one is the other's nearest.
    EXPECT_EQ(n - 1, found.ids[n / 2 * k]);
    EXPECT_EQ(0.0, found.distances64[n / 2 * k]);
    ASSERT_FALSE(found.report.fallbacks.empty());
    EXPECT_NE(std::string::npos, found.report.fallbacks.back().why.find("range of f64"));
}

// Reported as f32 the distances are infinite or 0; the order is theirs still.
TEST(Range, F32RoundsWhatIsReportedAlone) {
    const std::vector<double> far = {3e160, 1e160, 2e160}, near = {3e-170, 1e-170, 2e-170}, zero = {0};
    for (const auto* points : {&far, &near}) {
        kith::Options options = of(kith::MetricId::euclidean);
        options.f64 = false;
        const auto found = kith::search(kith::view(points->data(), 3, 1), kith::view(zero.data(), 1, 1), 3, options);
        EXPECT_EQ((std::vector<std::int64_t>{1, 2, 0}), found.ids);
        EXPECT_EQ(points == &far ? infinity : 0, found.distances[0]);
    }
}

// Two numbers may differ by far less than they are: their squares are in range, that of the difference is not.
TEST(Range, NearbyNumbers) {
    const double x = 1e-135, next = std::nextafter(x, 1);
    const std::vector<double> points = {next, next, x, x, 1, 1}, query = {x, x};
    const kith::MatrixView p = kith::view(points.data(), 3, 2), q = kith::view(query.data(), 1, 2);
    const auto found = kith::search(p, q, 3, of(kith::MetricId::euclidean));
    EXPECT_EQ((std::vector<std::int64_t>{1, 0, 2}), found.ids);
    EXPECT_EQ(0.0, found.distances64[0]);
    EXPECT_NEAR(std::sqrt(2.0), found.distances64[1] / (next - x), rounding);
    EXPECT_EQ("", Truth("euclidean", {}, p, q, 3).difference(found));
}

// Both keys are infinite.
TEST(Range, AnInfinitePointIsNoNearerThanAFarOne) {
    const std::vector<double> points = {infinity, 1e200}, query = {0};
    const kith::MatrixView p = kith::view(points.data(), 2, 1), q = kith::view(query.data(), 1, 1);
    EXPECT_EQ(1, kith::search(p, q, 1, of(kith::MetricId::euclidean)).ids[0]);
}

// Points and queries of one dimension, whose distances are known.
struct Line {
    std::vector<double> points = {5e200, 0, 3e-170, 2, 1e300, 4e-170, infinity, 7};
    kith::MatrixView view = kith::view(points.data(), 8, 1);
    std::vector<double> zero = {0};
    kith::MatrixView query = kith::view(zero.data(), 1, 1);
    std::vector<std::int64_t> order = {1, 2, 5, 3, 7, 0, 4, 6};

    void check(const std::vector<std::int64_t>& ids, const std::vector<double>& distances) const {
        ASSERT_EQ(order, ids);
        for (std::size_t i = 0; i < ids.size(); ++i) {
            const double want = points[static_cast<std::size_t>(ids[i])];
            if (want == 0 || std::isinf(want)) EXPECT_EQ(want, distances[i]);
            else EXPECT_NEAR(1, distances[i] / want, rounding);
        }
    }
};

TEST(Range, OfEveryEntry) {
    const Line line;
    kith::Metric minkowski(kith::MetricId::minkowski);
    minkowski.p = 3;
    for (const kith::Metric& metric : {kith::Metric(kith::MetricId::euclidean), minkowski}) {
        const kith::Options options = of(metric);
        const kith::Neighbors found = kith::search(line.view, line.query, 8, options);
        line.check(found.ids, found.distances64);
        const kith::Index index(line.view, options), borrowed = kith::Index::borrowing(line.view, options);
        EXPECT_TRUE(same_answer(found, index.search(line.query, 8, options)));
        EXPECT_TRUE(same_answer(found, borrowed.search(line.query, 8, options)));
        EXPECT_TRUE(same_answer(found, kith::search_batches(line.view, line.query, {{0, 8, 0, 1}}, 8, options)));

        // Row 1 of a graph is of the point 0.
        const kith::Neighbors graph = kith::graph(line.view, 7, options), of_index = index.graph(7, options);
        EXPECT_TRUE(same_answer(graph, of_index));
        std::vector<std::int64_t> ids(graph.ids.begin() + 7, graph.ids.begin() + 14);
        ids.insert(ids.begin(), 1);
        EXPECT_EQ(line.order, ids);
        kith::Options with_self = options;
        with_self.include_self = true;
        const kith::Neighbors selves = kith::graph(line.view, 8, with_self);
        EXPECT_EQ(line.order, std::vector<std::int64_t>(selves.ids.begin() + 8, selves.ids.begin() + 16));
        EXPECT_TRUE(same_answer(selves, index.graph(8, with_self)));
        kith::Options grids = options;
        grids.path = "kato";
        EXPECT_TRUE(same_answer(graph, kith::graph(line.view, 7, grids)));

        const kith::Distances all = kith::distances(line.view, line.query, options);
        std::vector<double> in_order;
        for (const std::int64_t id : line.order) in_order.push_back(all.values64[static_cast<std::size_t>(id)]);
        EXPECT_EQ(found.distances64, in_order);

        // In shards, whose own points may all be ordinary.
        std::vector<kith::PartialNeighbors> parts;
        for (const std::int64_t first : {0, 3, 5}) {
            const std::int64_t rows = first == 0 ? 3 : first == 3 ? 2 : 3;
            parts.push_back(
                kith::search_shard(kith::view(line.points.data() + first, rows, 1), first, line.query, 8, options));
        }
        kith::merge(parts[1], parts[2]);
        kith::merge(parts[1], parts[0]);
        EXPECT_TRUE(same_answer(found, kith::finish(parts[1], options)));

        kith::MatchOptions match;
        match.search = options;
        const kith::Matches matches = kith::match(line.query, kith::view(line.points.data() + 4, 2, 1), match);
        ASSERT_EQ((std::vector<std::int64_t>{1}), matches.second);
        EXPECT_NEAR(1, matches.distances[0] / 4e-170, rounding);
    }
}

TEST(Range, OfRadii) {
    const Line line;
    const kith::Options options = of(kith::MetricId::euclidean);
    const kith::Index index(line.view, options);
    // Radii that have keys and radii that have none; a point on the border of some.
    const auto on = kith::search(line.view, line.query, 8, options);
    for (const double r :
         {0.0, 3.5e-170, on.distances64[1], 1e-100, 2.0, 6.0, 1e160, on.distances64[5], 1e250, 1e308, infinity}) {
        for (const bool open : {false, true}) {
            kith::Radius radius(r);
            radius.open = open;
            const auto within = [&](double distance) { return open ? distance < r : distance <= r; };
            const auto count = std::count_if(on.distances64.begin(), on.distances64.end(), within);
            const kith::RadiusNeighbors got = kith::radius(line.view, line.query, radius, options);
            ASSERT_EQ(std::vector<std::int64_t>(line.order.begin(), line.order.begin() + count), got.ids) << r << open;
            EXPECT_EQ(std::vector<double>(on.distances64.begin(), on.distances64.begin() + count), got.distances64);
            const kith::RadiusNeighbors of_index = index.radius(line.query, radius, options);
            EXPECT_EQ(got.ids, of_index.ids);
            EXPECT_EQ(got.distances64, of_index.distances64);
            EXPECT_EQ(count, kith::radius_counts(line.view, line.query, radius, options).counts[0]);
            // The points among themselves, of which the second is 0.
            const kith::RadiusNeighbors graph = kith::radius_graph(line.view, radius, options);
            const std::vector<std::int64_t> others(graph.ids.begin() + graph.offsets[1],
                                                   graph.ids.begin() + graph.offsets[2]);
            EXPECT_EQ(std::vector<std::int64_t>(line.order.begin() + std::min<std::int64_t>(1, count),
                                                line.order.begin() + count),
                      others);
            EXPECT_EQ(graph.ids, index.radius_graph(radius, options).ids);
            // Shards.
            std::vector<kith::RadiusNeighbors> rows;
            for (const std::int64_t first : {0, 4}) {
                kith::RadiusNeighbors& part = rows.emplace_back();
                kith::radius_shard(kith::view(line.points.data() + first, 4, 1), first, line.query, radius, options,
                                   [&](const kith::RadiusRows& r) {
                                       part.offsets.assign(r.offsets, r.offsets + 2);
                                       part.ids.assign(r.ids, r.ids + r.offsets[1]);
                                       part.distances64.assign(r.distances64, r.distances64 + r.offsets[1]);
                                   });
            }
            std::vector<kith::RadiusRows> views;
            for (const auto& part : rows)
                views.push_back({0, 1, part.offsets.data(), part.ids.data(), nullptr, part.distances64.data()});
            const kith::RadiusNeighbors merged = kith::merge_radius(views, 1, options);
            EXPECT_EQ(got.ids, merged.ids);
            EXPECT_EQ(got.distances64, merged.distances64);
        }
    }
}

// Rows far out are scaled wherever they are searched, and whatever lies beside them.
TEST(Range, OfDirections) {
    constexpr std::int64_t n = 200, d = 6, k = 7;
    std::vector<double> points = gaussian(n * d, 5), scaled = points;
    adversarial::Random random(6);
    for (std::int64_t i = 0; i < n; ++i) {
        const int exponent = i % 3 ? 0 : static_cast<int>(random.below(1900)) - 950;
        for (std::int64_t j = 0; j < d; ++j) {
            points[i * d + j] = std::abs(points[i * d + j]);
            scaled[i * d + j] = std::ldexp(points[i * d + j], exponent);
        }
    }
    for (const auto metric : {kith::MetricId::cosine, kith::MetricId::correlation, kith::MetricId::jensenshannon}) {
        const kith::Options options = of(metric);
        const kith::MatrixView ordinary = kith::view(points.data(), n, d), far = kith::view(scaled.data(), n, d);
        const kith::Neighbors want = kith::search(ordinary, ordinary, k, options);
        EXPECT_TRUE(same_answer(want, kith::search(far, far, k, options)));
        EXPECT_TRUE(same_answer(want, kith::search(ordinary, far, k, options)));
        const kith::Index index(far, options), borrowed = kith::Index::borrowing(far, options);
        EXPECT_TRUE(same_answer(want, index.search(far, k, options)));
        EXPECT_TRUE(same_answer(want, borrowed.search(ordinary, k, options)));
        EXPECT_TRUE(same_answer(kith::graph(ordinary, k, options), kith::graph(far, k, options)));
        EXPECT_TRUE(same_answer(kith::graph(ordinary, k, options), index.graph(k, options)));
        EXPECT_TRUE(same_answer(want, kith::search_batches(far, far, {{0, n, 0, n}}, k, options)));
        EXPECT_TRUE(same_answer(want, kith::finish(kith::search_shard(far, 0, far, k, options), options)));
        EXPECT_EQ(kith::distances(ordinary, ordinary, options).values64, kith::distances(far, far, options).values64);
        const double r = want.distances64[3];
        EXPECT_EQ(kith::radius(ordinary, ordinary, r, options).ids, kith::radius(far, far, r, options).ids);
        EXPECT_EQ(kith::radius(ordinary, ordinary, r, options).ids, index.radius(far, r, options).ids);
        // Columns side by side.
        std::vector<double> columns(scaled.size());
        for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t j = 0; j < d; ++j) columns[j * n + i] = scaled[i * d + j];
        const kith::MatrixView by_columns = kith::view_column_major(columns.data(), n, d);
        EXPECT_TRUE(same_answer(want, kith::search(by_columns, far, k, options)));
    }
}

}  // namespace
