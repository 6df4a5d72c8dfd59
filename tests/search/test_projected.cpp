// The path "projected" against the oracle: adversarial data, spectra that fall, and data that have no directions.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cpu/simd/isa.h"
#include "cpu_searches.h"
#include "exact/report/progress.h"
#include "search_cases.h"
#include "spectrum.h"

namespace {

using cpu_searches::expect_same;
using cpu_searches::on_cpu;
using search_cases::Execution;
using spectrum::falling;
using spectrum::Spectrum;

const std::vector<Execution> executions = {{"projected", "", 2, false},
                                           {"projected", "baseline", 1, false},
                                           {"projected", "avx2", 3, true},
                                           {"projected", "avx512", 2, false},
                                           {"projected", "", 1, true}};

class Projected : public testing::TestWithParam<std::string> {};

TEST_P(Projected, AnswersAsTheOracle) {
    search_cases::in_dimensions(GetParam(), {32, 33, 65, 100}, {700, 40, 0, 0}, {2000, 40, 0, 0}, executions);
}

INSTANTIATE_TEST_SUITE_P(Metric, Projected, testing::ValuesIn(spectrum::product_metrics()),
                         [](const auto& info) { return info.param; });

// Where the spectrum falls, nearly every query is certified and few distance keys are evaluated.
TEST(ProjectedSearch, CertifiesWhereTheSpectrumFalls) {
    const Spectrum points(6000, falling(80, 1.0), 1), queries(700, falling(80, 1.0), 2);
    for (const char* metric : {"sqeuclidean", "euclidean", "cosine", "inner_product", "correlation"}) {
        const auto want = kith::search(points.view(), queries.view(), 10, on_cpu(metric, "exact"));
        const auto got = kith::search(points.view(), queries.view(), 10, on_cpu(metric, "projected"));
        expect_same(want, got, metric);
        EXPECT_EQ("projected", got.report.path) << metric;
        EXPECT_LT(got.report.candidates, 40.0 * 700) << metric;
        EXPECT_GT(got.report.certified, 600) << metric;
    }
}

// What directions are chosen with, and how many of them: in matrix registers all coordinates take little more.
const char* vectors() {
    return kith::cpu::supported(kith::cpu::Isa::avx512) ? "avx512" : "";
}

std::int64_t left_by_directions(const kith::Report& report) {
    std::int64_t queries = 0;
    for (const kith::Fallback& f : report.fallbacks) queries += f.why.find("the directions") == 0 ? f.queries : 0;
    return queries;
}

// No direction at all; one outlier that turns them; directions that end at a cliff; columns of very different units;
// queries far from the points and far from their directions.
TEST(ProjectedSearch, DataAgainstIt) {
    std::vector<double> flat(70, 1.0), cliff(70, 1e-3);
    std::fill_n(cliff.begin(), 16, 1.0);
    Spectrum outlier(3000, falling(70, 1.0), 5);
    for (std::int64_t j = 0; j < 70; ++j) outlier.rows[static_cast<std::size_t>(1024 * 70 + j)] = j % 2 ? 3e8f : -1e8f;
    Spectrum equal(3000, std::vector<double>(70, 0.0), 6, 1.0), cliffs(3000, cliff, 7), flats(3000, flat, 8),
        offset(3000, falling(70, 1.0), 9, 1000.0), units = spectrum::units(3000, 70, 12);
    Spectrum near(60, falling(70, 1.0), 10), far(60, flat, 11, 50.0), in_units = spectrum::units(60, 70, 13);
    for (const char* metric : {"sqeuclidean", "cosine", "inner_product"}) {
        for (Spectrum* points : {&outlier, &equal, &cliffs, &flats, &offset, &units}) {
            for (Spectrum* queries : {&near, &far, &cliffs, &in_units}) {
                const auto want = kith::search(points->view(), queries->view(), 7, on_cpu(metric, "exact"));
                const auto got = kith::search(points->view(), queries->view(), 7, on_cpu(metric, "projected"));
                expect_same(want, got, metric);
            }
        }
    }
}

// All variance outside of the directions, of those points that these are not made of and of all queries: only the norm
// of what is left says anything of a pair, and the queries are given up. Of points with directions like theirs none is.
TEST(ProjectedSearch, AllVarianceOutsideOfDirections) {
    constexpr std::int64_t n = 9000, d = 70, q = 60, sample = 1024;
    std::vector<char> sampled(n);
    for (std::int64_t i = 0; i < sample; ++i) sampled.at(static_cast<std::size_t>(i * n / sample)) = 1;
    const auto none = [](std::int64_t) { return false; };
    const Spectrum outside = spectrum::outside_of_directions(
                       n, d, 14, [&](std::int64_t i) { return sampled[static_cast<std::size_t>(i)] != 0; }),
                   like = spectrum::outside_of_directions(n, d, 14, none),
                   queries = spectrum::outside_of_directions(q, d, 16, none);
    for (const char* metric : {"sqeuclidean", "cosine", "inner_product"}) {
        for (const Spectrum* points : {&outside, &like}) {
            const auto want = kith::search(points->view(), queries.view(), 7, on_cpu(metric, "exact"));
            const auto got = kith::search(points->view(), queries.view(), 7, on_cpu(metric, "projected"));
            expect_same(want, got, metric);
            EXPECT_EQ("projected", got.report.path) << metric;
            EXPECT_EQ(points == &outside ? q : 0, left_by_directions(got.report)) << metric;
        }
    }
}

// Without directions every row would be read: all queries are left to the product of all coordinates.
TEST(ProjectedSearch, GivesQueriesUp) {
    const Spectrum points(9000, std::vector<double>(70, 1.0), 8), queries(60, std::vector<double>(70, 1.0), 9);
    const auto got = kith::search(points.view(), queries.view(), 7, on_cpu("sqeuclidean", "projected"));
    EXPECT_EQ(60, left_by_directions(got.report));
    EXPECT_EQ(60, got.report.retried);
    EXPECT_LT(got.report.candidates, 60.0 * 200);
}

// A few of many are read on, and those that no filter covers scanned: no other filter is packed for them.
TEST(ProjectedSearch, FewThatAreUnlikeTheOthers) {
    const Spectrum points(9000, falling(70, 1.0), 8), unlike(6, std::vector<double>(70, 2.0), 9);
    Spectrum queries(700, falling(70, 1.0), 10);
    for (std::int64_t i = 0; i < unlike.n; ++i)
        std::copy_n(&unlike.rows[static_cast<std::size_t>(i * 70)], 70,
                    &queries.rows[static_cast<std::size_t>((100 * i + 33) * 70)]);
    queries.rows[650 * 70 + 3] = 3e30f;
    const std::vector<double> rows(points.rows.begin(), points.rows.end());
    const kith::MatrixView wide = kith::view(rows.data(), points.n, points.d);
    for (const char* metric : {"sqeuclidean", "cosine", "inner_product"}) {
        for (const std::int64_t k : {1, 10, 200}) {
            const auto want = kith::search(points.view(), queries.view(), k, on_cpu(metric, "exact"));
            kith::Options options = on_cpu(metric, "projected");
            options.isa = vectors();
            const auto got = kith::search(wide, queries.view(), k, options);
            expect_same(want, got, metric);
            expect_same(want, kith::search(points.view(), queries.view(), k, on_cpu(metric, "projected")), metric);
            EXPECT_EQ(700, got.report.certified + got.report.retried + got.report.scanned);
            if (metric != std::string("sqeuclidean")) continue;
            EXPECT_LE(3, left_by_directions(got.report)) << k;
            EXPECT_EQ(1, got.report.scanned) << k;
        }
    }
}

TEST(ProjectedSearch, GraphsAndIndexes) {
    const Spectrum points(3000, falling(66, 1.0), 12);
    const auto want = kith::graph(points.view(), 9, on_cpu("euclidean", "exact"));
    const auto got = kith::graph(points.view(), 9, on_cpu("euclidean", "projected"));
    expect_same(want, got, "graph");
    EXPECT_EQ("projected", got.report.path);
    const kith::Index index(points.view(), on_cpu("euclidean", "projected"));
    expect_same(want, index.graph(9), "graph of an index");
    for (const std::int64_t q : {1, 5, 40}) {
        const kith::MatrixView some = kith::view(points.rows.data(), q, 66);
        expect_same(kith::search(points.view(), some, 12, on_cpu("euclidean", "exact")), index.search(some, 12),
                    std::to_string(q));
    }
    const auto ball =
        kith::radius(points.view(), kith::view(points.rows.data(), 9, 66), 1.0, on_cpu("euclidean", "exact"));
    EXPECT_EQ(ball.ids, index.radius(kith::view(points.rows.data(), 9, 66), 1.0).ids);
}

// The planner leaves it to a sample: points without directions are filtered by all coordinates, and the report says so.
TEST(ProjectedSearch, IsChosenByASample) {
    kith::Options options = on_cpu("sqeuclidean", "");
    options.isa = vectors();
    const std::vector<double> flat(64, 1.0);
    std::vector<double> rising;
    for (const double x : falling(64, 1.2)) rising.push_back(10 / x);
    const Spectrum with(1 << 14, falling(64, 1.2), 20), without(1 << 14, flat, 21);
    const Spectrum like(8192, falling(64, 1.2), 22), unlike(8192, rising, 23);
    const kith::Shape shape{1 << 14, 8192, 64, 5};
    EXPECT_EQ(kith::Path::projected, kith::plan(shape, options).path);
    EXPECT_EQ("projected", kith::search(with.view(), like.view(), 5, options).report.path);
    const auto plain = kith::search(without.view(), like.view(), 5, options);
    EXPECT_EQ(0u, plain.report.path.find("gemm-")) << plain.report.path;
    // Queries unlike the points: the sample is tried with some of them, and all are filtered by all coordinates, in
    // f32, which is precise enough for them.
    options.isa = kith::cpu::supported(kith::cpu::Isa::avx2) ? "avx2" : "baseline";
    const auto tried = kith::search(with.view(), unlike.view(), 5, options);
    EXPECT_EQ(0, left_by_directions(tried.report));
    EXPECT_EQ(0u, tried.report.path.find("gemm-")) << tried.report.path;
    options.path = "gemm-f32";
    expect_same(kith::search(with.view(), unlike.view(), 5, options), tried, "unlike");
    // An Index, which is made before, tries a few of many queries first, and remembers it.
    options.path = "";
    const auto left_by_an_index =
        left_by_directions(kith::Index(with.view(), options).search(unlike.view(), 5, options).report);
    EXPECT_GT(left_by_an_index, 32);
    EXPECT_LE(left_by_an_index, 64);
    const kith::Index index(with.view(), options);
    std::vector<std::int64_t> left;
    for (const std::int64_t first : {0, 40, 80})
        left.push_back(
            left_by_directions(index.search(kith::view(unlike.rows.data() + first * 64, 40, 64), 5, options).report));
    EXPECT_GT(left[0], 20);
    EXPECT_EQ(0, left[1] + left[2]);
}

// Points that serve many searches are not judged by the queries of the first one, nor is a search by a single query.
TEST(ProjectedSearch, IsNotChosenByFew) {
    kith::Options options = on_cpu("sqeuclidean", "");
    options.isa = kith::cpu::supported(kith::cpu::Isa::avx2) ? "avx2" : "baseline";
    constexpr std::int64_t d = 128;
    std::vector<double> rising;
    for (const double x : falling(d, 1.2)) rising.push_back(1 / x);
    const Spectrum points(1 << 14, falling(d, 1.2), 20), unlike(8192, rising, 23);
    Spectrum like(8192, falling(d, 1.2), 22);
    const kith::Index borrowing = kith::Index::borrowing(points.view(), options);
    EXPECT_GT(left_by_directions(borrowing.search(unlike.view(), 5, options).report), 32);
    EXPECT_EQ("projected", kith::search(points.view(), like.view(), 5, options).report.path);
    std::copy_n(unlike.rows.begin(), d, like.rows.begin());
    EXPECT_EQ("projected", kith::search(points.view(), like.view(), 5, options).report.path);
}

// Queries with a NaN have no neighbours, whatever is read for others.
TEST(ProjectedSearch, QueriesWithANaNAreCertified) {
    const Spectrum points(9000, falling(70, 1.0), 30);
    Spectrum queries(100, falling(70, 1.0), 31);
    for (std::size_t i = 0; i < 100; i += 4) queries.rows[i * 70 + i % 70] = std::numeric_limits<float>::quiet_NaN();
    const auto got = kith::search(points.view(), queries.view(), 7, on_cpu("sqeuclidean", "projected"));
    EXPECT_EQ(0, left_by_directions(got.report));
    EXPECT_EQ(100, got.report.certified);
}

TEST(ProjectedSearch, IsCancelled) {
    const Spectrum points(6000, falling(80, 1.0), 1);
    kith::ProgressMeter::milliseconds_between = 0;
    int calls = 0;
    for (const int at : {1, 3, 20, 60}) {
        kith::Options options = on_cpu("sqeuclidean", "projected");
        calls = 0;
        options.progress = [&](const kith::Progress&) { return ++calls < at; };
        try {
            kith::graph(points.view(), 5, options);
            ADD_FAILURE() << "not cancelled at call " << at;
        } catch (const kith::Error& error) {
            EXPECT_EQ(kith::ErrorCode::cancelled, error.code());
        }
        EXPECT_EQ(at, calls);
    }
    kith::ProgressMeter::milliseconds_between = 100;
}

}  // namespace
