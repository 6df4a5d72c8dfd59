// radius() on the CPU against the oracle and against searches for all points; its ends, graphs, blocks, Index, errors.
#include "exact/report/progress.h"
#include "radius_cases.h"
#include "refusal.h"

namespace {

using radius_cases::difference;

class CpuRadius : public testing::TestWithParam<std::string> {};

TEST_P(CpuRadius, EveryDataSet) {
    radius_cases::every_data_set("cpu", GetParam());
}
TEST_P(CpuRadius, EveryFilter) {
    radius_cases::every_filter("cpu", GetParam());
}

INSTANTIATE_TEST_SUITE_P(Metric, CpuRadius, testing::ValuesIn(metric_names()),
                         [](const auto& info) { return info.param; });

search_cases::Case lattice(const std::string& metric, std::int64_t n, std::int64_t q, std::int64_t d) {
    const Variant variant = variants(metric, d, kith::ElementType::f32).front();
    return search_cases::make_case(variant, "lattice", {n, q, d, 1}, kith::ElementType::f32, kith::ElementType::f32,
                                   arrays::Shape::dense, 3);
}

// One coordinate, points 0, 1, ..., 9: what is at exactly r is decided as the distance is reported.
TEST(Radius, BoundaryOfALine) {
    std::vector<float> points(10);
    for (std::size_t i = 0; i < 10; ++i) points[i] = static_cast<float>(i);
    const float query = 3;
    const auto count = [&](kith::MetricId metric, double r, bool open) {
        kith::Options options;
        options.device = "cpu";
        options.metric = metric;
        kith::Radius radius(r);
        radius.open = open;
        return kith::radius_counts(kith::view(points.data(), 10, 1), kith::view(&query, 1, 1), radius, options)
            .counts.front();
    };
    using kith::MetricId;
    const double inf = std::numeric_limits<double>::infinity();
    EXPECT_EQ(5, count(MetricId::euclidean, 2, false));
    EXPECT_EQ(3, count(MetricId::euclidean, 2, true));
    EXPECT_EQ(3, count(MetricId::euclidean, std::nextafter(2.0, 0.0), false));
    EXPECT_EQ(5, count(MetricId::euclidean, std::nextafter(2.0, 3.0), true));
    EXPECT_EQ(3, count(MetricId::sqeuclidean, 3.999, false));
    EXPECT_EQ(5, count(MetricId::sqeuclidean, 4, false));
    EXPECT_EQ(1, count(MetricId::euclidean, 0, false));
    EXPECT_EQ(1, count(MetricId::euclidean, -0.0, false));
    EXPECT_EQ(0, count(MetricId::euclidean, 0, true));
    EXPECT_EQ(10, count(MetricId::euclidean, inf, false));
    EXPECT_EQ(10, count(MetricId::euclidean, inf, true));
    // Products of 3 and 0, ..., 9.
    EXPECT_EQ(7, count(MetricId::inner_product, 9, false));
    EXPECT_EQ(6, count(MetricId::inner_product, 9, true));
    EXPECT_EQ(10, count(MetricId::inner_product, -1, false));
    EXPECT_EQ(10, count(MetricId::inner_product, -inf, false));
    EXPECT_EQ(0, count(MetricId::inner_product, inf, false));
}

// Distances at infinity are within the closed ball of radius infinity alone; NaN is nowhere.
TEST(Radius, InfinityAndNan) {
    const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    const std::vector<float> points{0, inf, nan, 1}, queries{0, nan};
    for (const bool open : {false, true}) {
        kith::Radius r(static_cast<double>(inf));
        r.open = open;
        for (const char* path : {"", "exact", "tree", "gemm-f32", "direct-f32"}) {
            kith::Options options;
            options.device = "cpu";
            options.path = path;
            const auto got =
                kith::radius(kith::view(points.data(), 4, 1), kith::view(queries.data(), 2, 1), r, options);
            const std::vector<std::int64_t> ids =
                open ? std::vector<std::int64_t>{0, 3} : std::vector<std::int64_t>{0, 3, 1};
            EXPECT_EQ(ids, got.ids) << path;
            EXPECT_EQ(got.offsets, (std::vector<std::int64_t>{0, static_cast<std::int64_t>(ids.size()),
                                                              static_cast<std::int64_t>(ids.size())}));
        }
    }
}

TEST(Radius, GraphsLeaveOutThePointItselfById) {
    for (const char* metric : {"euclidean", "cityblock", "inner_product", "cosine"}) {
        const auto c = lattice(metric, 700, 1, 3);
        const bool similarity = metric == std::string("inner_product");
        const kith::Neighbors others = radius_cases::all_of(c, true);
        auto own = c;
        own.queries = c.points;
        const kith::Neighbors all = radius_cases::all_of(own);
        const std::vector<double> radii = radius_cases::radii_on(others, similarity, 9);
        const kith::Radius r = radius_cases::radius_of(radii, false);
        for (const int threads : {1, 2}) {
            kith::Options options;
            options.device = "cpu";
            options.metric = c.variant.metric;
            options.threads = threads;
            const auto graph = kith::radius_graph(c.points.view, r, options);
            const auto want = radius_cases::expected(others, radii, false, similarity, false);
            EXPECT_EQ("", difference(want, graph)) << metric;
            EXPECT_EQ(radius_cases::counts_of(want), kith::radius_graph_counts(c.points.view, r, options).counts);
            options.include_self = true;
            const auto whole = kith::radius_graph(c.points.view, r, options);
            EXPECT_EQ("", difference(radius_cases::expected(all, radii, false, similarity, false), whole)) << metric;
        }
    }
}

// Blocks come in order, hold all rows once, and are the more the less memory there is.
TEST(Radius, Blocks) {
    const auto c = lattice("euclidean", 3000, 500, 3);
    kith::Options options;
    options.device = "cpu";
    options.metric = c.variant.metric;
    const auto want = kith::radius(c.points.view, c.queries.view, 2.0, options);
    options.memory = 1 << 20;
    kith::RadiusNeighbors got;
    got.offsets.push_back(0);
    int blocks = 0;
    kith::radius_blocks(c.points.view, c.queries.view, 2.0, options, [&](const kith::RadiusRows& rows) {
        EXPECT_EQ(got.queries, rows.first);
        got.queries += rows.count;
        for (std::int64_t i = 0; i < rows.count; ++i)
            got.offsets.push_back(got.offsets.back() + rows.offsets[i + 1] - rows.offsets[i]);
        got.ids.insert(got.ids.end(), rows.ids, rows.ids + rows.offsets[rows.count]);
        got.distances.insert(got.distances.end(), rows.distances, rows.distances + rows.offsets[rows.count]);
        EXPECT_EQ(nullptr, rows.distances64);
        ++blocks;
    });
    EXPECT_EQ("", difference(want, got));
    EXPECT_GT(blocks, 3);
    EXPECT_THROW(kith::radius_blocks(c.points.view, c.queries.view, 2.0, options,
                                     [](const kith::RadiusRows&) { throw std::runtime_error("full"); }),
                 std::runtime_error);
}

// Rows that take a block each and fit, after many of nothing: blocks hold what they may, rows come once and in order.
TEST(Radius, BlocksOfDenseRowsAfterSparseOnes) {
    const auto c = lattice("euclidean", 3000, 500, 4);
    std::vector<float> queries(4 * 1500, 1e6f);
    const kith::MatrixView some = c.points.view;
    ASSERT_EQ(kith::ElementType::f32, some.type);
    // 1,000 sparse ones, 400 dense ones, 100 sparse ones.
    for (std::size_t i = 1000; i < 1400; ++i)
        for (std::size_t j = 0; j < 4; ++j)
            queries[i * 4 + j] = static_cast<const float*>(some.data)[i * static_cast<std::size_t>(some.stride) + j];
    const kith::MatrixView asked = kith::view(queries.data(), 1500, 4);
    for (const char* path : {"", "exact", "tree", "gemm-f32", "direct-f32"}) {
        for (const int threads : {1, 2}) {
            kith::Options options;
            options.device = "cpu";
            options.metric = c.variant.metric;
            options.path = path;
            options.threads = threads;
            const auto want = kith::radius(some, asked, 50.0, options);
            ASSERT_GE(want.ids.size(), std::size_t{400 * 2900});
            double done = 0;
            options.progress = [&](const kith::Progress& p) {
                EXPECT_LE(p.done, p.total);
                done = p.done;
                return true;
            };
            for (const std::int64_t memory : {50 << 10, 1 << 20}) {
                options.memory = memory;
                kith::RadiusNeighbors got;
                got.offsets.push_back(0);
                std::int64_t largest = 0, alone = 0;
                const auto report = kith::radius_blocks(some, asked, 50.0, options, [&](const kith::RadiusRows& rows) {
                    EXPECT_EQ(got.queries, rows.first);
                    EXPECT_GT(rows.count, 0);
                    got.queries += rows.count;
                    const std::int64_t of_block = rows.offsets[rows.count];
                    for (std::int64_t i = 0; i < rows.count; ++i)
                        got.offsets.push_back(got.offsets.back() + rows.offsets[i + 1] - rows.offsets[i]);
                    got.ids.insert(got.ids.end(), rows.ids, rows.ids + of_block);
                    got.distances.insert(got.distances.end(), rows.distances, rows.distances + of_block);
                    (rows.count == 1 ? alone : largest) = std::max(rows.count == 1 ? alone : largest, of_block);
                });
                EXPECT_EQ("", difference(want, got)) << path;
                EXPECT_EQ(1500, report.certified + report.retried + report.scanned);
                // In lists and as they are handed on.
                EXPECT_LE(largest * 28, memory) << path;
                EXPECT_LE(alone, 3000);
            }
        }
    }
}

// Counts of differences are the distance keys: no pair is evaluated, not even those at exactly r.
TEST(Radius, WholeNumbersAreNotRefined) {
    constexpr std::int64_t n = 3000, q = 20, d = 16;
    adversarial::Random random(12);
    std::vector<std::uint8_t> points(n * d), queries(q * d);
    for (auto* values : {&points, &queries})
        for (std::uint8_t& x : *values) x = static_cast<std::uint8_t>(random.below(256));
    const kith::MatrixView all = kith::view(points.data(), n, d), asked = kith::view(queries.data(), q, d);
    kith::Options options;
    options.device = "cpu";
    options.metric = kith::MetricId::hamming;
    for (const bool bits : {false, true}) {
        options.metric.packed_bits = bits;
        const double one = 1.0 / static_cast<double>(bits ? 8 * d : d);
        for (const double r : {(bits ? 64 : 16) * one, (bits ? 60 : 15) * one}) {
            for (const bool open : {false, true}) {
                kith::Radius within(r);
                within.open = open;
                options.path = "exact";
                const auto want = kith::radius(all, asked, within, options);
                const auto counted = kith::radius_counts(all, asked, within, options);
                options.path = "direct-f32";
                const auto got = kith::radius(all, asked, within, options);
                const auto counts = kith::radius_counts(all, asked, within, options);
                EXPECT_EQ("", difference(want, got));
                EXPECT_EQ(counted.counts, counts.counts);
                EXPECT_EQ(0, got.report.candidates);
                EXPECT_EQ(0, counts.report.candidates);
                EXPECT_EQ(q, counts.report.certified);
            }
        }
    }
}

TEST(Radius, IndexHasTheSameBits) {
    for (const char* metric : {"euclidean", "inner_product", "jaccard", "haversine"}) {
        const auto c = lattice(metric, 1200, 60, metric == std::string("haversine") ? 2 : 5);
        kith::Options options;
        options.device = "cpu";
        options.metric = c.variant.metric;
        options.f64 = true;
        const auto radii = radius_cases::radii_on(radius_cases::all_of(c), metric == std::string("inner_product"), 4);
        const kith::Radius r = radius_cases::radius_of(radii, false);
        const auto want = kith::radius(c.points.view, c.queries.view, r, options);
        const kith::Index index(c.points.view, options);
        EXPECT_EQ("", difference(want, index.radius(c.queries.view, r, options))) << metric;
        EXPECT_EQ(radius_cases::counts_of(want), index.radius_counts(c.queries.view, r, options).counts);
        EXPECT_EQ("", difference(kith::radius_graph(c.points.view, 1.0, options), index.radius_graph(1.0, options)));
    }
}

TEST(Radius, Formula) {
    const auto c = lattice("cityblock", 400, 20, 3);
    kith::Options options;
    options.device = "cpu";
    options.metric = c.variant.metric;
    const auto want = kith::radius(c.points.view, c.queries.view, 3.0, options);
    options.metric = kith::MetricId::formula;
    options.metric.formula = "a + abs(q - x)";
    EXPECT_EQ("", difference(want, kith::radius(c.points.view, c.queries.view, 3.0, options)));
    options.metric.formula = "a - abs(q - x)";
    EXPECT_EQ(400 * 20, kith::radius(c.points.view, c.queries.view, 0.0, options).offsets.back());
    EXPECT_LT(kith::radius(c.points.view, c.queries.view, -3.0, options).offsets.back(), 400 * 20);
}

TEST(Radius, Cancelled) {
    const auto c = lattice("euclidean", 2000, 300, 64);
    kith::Options options;
    options.device = "cpu";
    options.metric = c.variant.metric;
    kith::ProgressMeter::milliseconds_between = 0;
    for (const char* path : {"", "exact"}) {
        options.path = path;
        int calls = 0;
        options.progress = [&](const kith::Progress&) { return ++calls < 3; };
        try {
            kith::radius(c.points.view, c.queries.view, 100.0, options);
            ADD_FAILURE() << "not cancelled";
        } catch (const kith::Error& error) {
            EXPECT_EQ(kith::ErrorCode::cancelled, error.code());
        }
        double done = 0;
        options.progress = [&](const kith::Progress& p) {
            EXPECT_LE(p.done, p.total);
            done = std::max(done, p.done);
            return true;
        };
        kith::radius(c.points.view, c.queries.view, 1.0, options);
        EXPECT_GT(done, 0);
    }
    kith::ProgressMeter::milliseconds_between = 100;
}

TEST(Radius, Errors) {
    const auto c = lattice("euclidean", 20, 3, 2);
    const auto refused = [&](const kith::Radius& r, kith::MetricId metric) {
        kith::Options options;
        options.device = "cpu";
        options.metric = metric;
        return refusals::refusal([&] { kith::radius(c.points.view, c.queries.view, r, options); });
    };
    kith::Options options;
    options.device = "cpu";
    options.enqueue = true;
    EXPECT_THROW(kith::radius(c.points.view, c.queries.view, 1.0, options), kith::Error);
    options.enqueue = false;
    const kith::Index index(c.points.view, options);
    for (const char* const path : {"projected", "gemm-i8", "clustered"}) {
        options.path = path;
        refusals::expect_words(refusals::refusal_of([&] { kith::radius(c.points.view, c.queries.view, 1.0, options); }),
                               {path});
        refusals::expect_words(refusals::refusal_of([&] { index.radius(c.queries.view, 1.0, options); }), {path});
    }
    options.path = "kato";
    try {
        kith::radius_graph(c.points.view, 1.0, options);
        ADD_FAILURE() << "not refused";
    } catch (const kith::Error& error) {
        EXPECT_EQ(std::string("path: 'kato' serves graph() of the k nearest, not a search by radius"), error.what());
    }
    const double nan = std::numeric_limits<double>::quiet_NaN();
    EXPECT_EQ("r: nan; expected a number", refused(nan, kith::MetricId::euclidean));
    EXPECT_EQ("r: -1; expected at least 0, as distances of euclidean are", refused(-1, kith::MetricId::euclidean));
    EXPECT_EQ("", refused(-1, kith::MetricId::inner_product));
    const std::vector<double> two{1, 2}, some{1, nan, 2}, three{1, 2, 3};
    const std::vector<float> f32{1, 2, 3};
    EXPECT_EQ("r: 1 x 2 values; expected one of each of 3 queries",
              refused(kith::view(two.data(), 1, 2), kith::MetricId::euclidean));
    EXPECT_EQ("r: nan; expected a number", refused(kith::view(some.data(), 3, 1), kith::MetricId::euclidean));
    EXPECT_EQ("r: elements are f32; expected f64", refused(kith::view(f32.data(), 3, 1), kith::MetricId::euclidean));
    EXPECT_EQ("", refused(kith::view(three.data(), 1, 3), kith::MetricId::euclidean));
}

}  // namespace
