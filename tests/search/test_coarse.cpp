// The path "gemm-i8" against the oracle, and thresholds that are guessed from the first points.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "cpu/filter/tile/tile.h"
#include "cpu_searches.h"
#include "search_cases.h"
#include "spectrum.h"

namespace {

using namespace kith;
using cpu_searches::expect_same;
using cpu_searches::on_cpu;
using search_cases::Execution;
using spectrum::Spectrum;

const std::vector<Execution> executions = {
    {"gemm-i8", "", 2, false}, {"gemm-i8", "avx512", 1, false}, {"gemm-i8", "", 1, true}, {"gemm-i8", "", 3, false}};

bool has_bytes() {
    return cpu::supported(cpu::Isa::avx512) && cpu::byte_kernels(cpu::best_isa());
}

class Coarse : public testing::TestWithParam<std::string> {};

TEST_P(Coarse, AnswersAsTheOracle) {
    if (!has_bytes()) GTEST_SKIP() << "this processor has neither AVX512_VNNI nor AMX";
    search_cases::in_dimensions(GetParam(), {3, 32, 33, 65, 100}, {700, 40, 0, 0}, {2000, 40, 0, 0}, executions);
}

INSTANTIATE_TEST_SUITE_P(Metric, Coarse, testing::ValuesIn(spectrum::product_metrics()),
                         [](const auto& info) { return info.param; });

// Answers are the scan's, nearly all of them certified at the first try from so many candidates a query.
void expect_certified(const Spectrum& points, const Spectrum& queries, std::int64_t k, const std::string& metric,
                      double candidates, const std::string& what) {
    const auto want = search(points.view(), queries.view(), k, on_cpu(metric, "exact"));
    const auto got = search(points.view(), queries.view(), k, on_cpu(metric, "gemm-i8"));
    expect_same(want, got, metric + ", " + what);
    EXPECT_EQ("gemm-i8", got.report.path);
    EXPECT_LT(got.report.candidates, candidates * static_cast<double>(queries.n)) << metric << ", " << what;
    EXPECT_GT(got.report.certified, queries.n - 10) << metric << ", " << what;
}

// Gaussian points: hardly a distance key beyond the neighbours', and queries unlike the points are given up.
TEST(CoarseSearch, CertifiesGaussianPoints) {
    if (!has_bytes()) GTEST_SKIP() << "this processor has neither AVX512_VNNI nor AMX";
    const Spectrum points(20000, std::vector<double>(96, 1.0), 1), queries(700, std::vector<double>(96, 1.0), 2);
    for (const char* metric : {"sqeuclidean", "cosine", "inner_product"})
        expect_certified(points, queries, 50, metric, 2.5 * 50, "gaussian");
    std::vector<double> few(96, 1e-4);
    few[0] = 1;
    const Spectrum unlike(700, few, 3);
    expect_same(search(points.view(), unlike.view(), 50, on_cpu("sqeuclidean", "exact")),
                search(points.view(), unlike.view(), 50, on_cpu("sqeuclidean", "gemm-i8")), "unlike");
}

// A row that is not covered is among those that say what rounding loses, and says nothing.
TEST(CoarseSearch, AnInfiniteRow) {
    if (!has_bytes()) GTEST_SKIP() << "this processor has neither AVX512_VNNI nor AMX";
    Spectrum points(20000, std::vector<double>(96, 1.0), 1), queries(700, std::vector<double>(96, 1.0), 2);
    points.rows[3] = std::numeric_limits<float>::infinity();
    for (const char* metric : {"sqeuclidean", "inner_product"})
        expect_certified(points, queries, 10, metric, 4 * 10, "an infinite row");
}

// Points that rounding leaves as they are, and queries that it does not.
TEST(CoarseSearch, CoordinatesOfTwoValues) {
    if (!has_bytes()) GTEST_SKIP() << "this processor has neither AVX512_VNNI nor AMX";
    for (const float unit : {1.0f, 0.7f}) {
        Spectrum points(20000, std::vector<double>(96, 1.0), 1), queries(700, std::vector<double>(96, 1.0), 2);
        for (float& x : points.rows) x = x > 0 ? unit : -unit;
        for (float& q : queries.rows) q = (q > 0 ? unit : -unit) + 0.02f * q;
        for (const char* metric : {"sqeuclidean", "inner_product", "cosine"})
            expect_certified(points, queries, 10, metric, std::numeric_limits<double>::infinity(),
                             "two values, " + std::to_string(unit));
    }
}

// ---------------------------------------------------------------- guessed thresholds

struct Arranged {
    std::vector<float> rows;
    std::int64_t n, d;
    MatrixView view() const { return kith::view(rows.data(), n, d); }
};

Arranged arranged(const Spectrum& of, const std::function<bool(const float*, const float*)>& before) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(of.n));
    std::iota(order.begin(), order.end(), std::int64_t{0});
    const float* const rows = of.rows.data();
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int64_t a, std::int64_t b) { return before(rows + a * of.d, rows + b * of.d); });
    Arranged out{{}, of.n, of.d};
    for (const std::int64_t i : order) out.rows.insert(out.rows.end(), rows + i * of.d, rows + (i + 1) * of.d);
    return out;
}

float norm2(const float* x, std::int64_t d) {
    return std::inner_product(x, x + d, x, 0.0f);
}

// The first points are unlike the others, or all neighbours of a query: every guess is wrong, or none; answers are not.
TEST(Guesses, OfEveryOrderOfThePoints) {
    constexpr std::int64_t d = 20, n = 12000, q = 1100, k = 90;
    const std::vector<double> flat(d, 1.0);
    const Spectrum points(n, flat, 31), queries(q, flat, 32);
    std::vector<Arranged> orders;
    orders.push_back(arranged(points, [](const float*, const float*) { return false; }));
    orders.push_back(arranged(points, [](const float* a, const float* b) { return norm2(a, d) < norm2(b, d); }));
    orders.push_back(arranged(points, [](const float* a, const float* b) { return norm2(a, d) > norm2(b, d); }));
    orders.push_back(arranged(points, [](const float* a, const float* b) { return a[0] < b[0]; }));
    // Clusters of two panels, so that a part of the points has all neighbours of some queries.
    Arranged clusters{{}, n, d}, near{{}, q, d};
    adversarial::Random random(33);
    std::vector<float> centre(d);
    for (std::int64_t i = 0; i < n; ++i) {
        if (i % 64 == 0)
            for (float& c : centre) c = static_cast<float>(random.gaussian());
        for (std::int64_t j = 0; j < d; ++j)
            clusters.rows.push_back(centre[j] + static_cast<float>(0.01 * random.gaussian()));
        if (i % 10 == 0 && std::ssize(near.rows) < q * d)
            near.rows.insert(near.rows.end(), clusters.rows.end() - d, clusters.rows.end());
    }
    for (const char* path : {"gemm-f32", "gemm-bf16", "direct-f32", "gemm-i8", "projected"}) {
        if (std::string(path) == "gemm-bf16" && !cpu::supports_bf16()) continue;
        if (std::string(path) == "gemm-i8" && !has_bytes()) continue;
        for (const char* metric : {"sqeuclidean", "inner_product"}) {
            if (std::string(path) == "direct-f32" && metric[0] == 'i') continue;
            for (std::size_t i = 0; i < orders.size(); ++i) {
                const auto want = search(orders[i].view(), queries.view(), k, on_cpu(metric, "exact"));
                for (const int threads : {1, 3}) {
                    const auto got = search(orders[i].view(), queries.view(), k, on_cpu(metric, path, threads));
                    expect_same(want, got, std::string(path) + ", " + metric + ", order " + std::to_string(i));
                    EXPECT_EQ(q, got.report.certified + got.report.retried + got.report.scanned);
                }
            }
        }
        const kith::MatrixView of_clusters{near.rows.data(), q, d, d, ElementType::f32};
        expect_same(search(clusters.view(), of_clusters, k, on_cpu("sqeuclidean", "exact")),
                    search(clusters.view(), of_clusters, k, on_cpu("sqeuclidean", path)),
                    std::string(path) + ", clusters");
    }
}

// Guesses are right for points in no order: nearly every query is certified at the first try.
TEST(Guesses, AreRightWithoutAnOrder) {
    const std::vector<double> flat(12, 1.0);
    const Spectrum points(20000, flat, 41), queries(1500, flat, 42);
    const auto got = search(points.view(), queries.view(), 100, on_cpu("sqeuclidean", "gemm-f32"));
    EXPECT_GE(got.report.certified, 1495);
    EXPECT_LT(got.report.candidates, 105.0 * 1500);
}

// Fewer points than neighbours that a query may have, itself left out, NaN among them: no guess can be right.
TEST(Guesses, WhereNeighboursAreFew) {
    const std::vector<double> flat(10, 1.0);
    Spectrum points(1300, flat, 51);
    for (std::int64_t i = 0; i < 1300; ++i)
        if (i % 13 != 0) points.rows[static_cast<std::size_t>(i * 10 + 3)] = std::nanf("");
    for (const char* path : {"gemm-f32", "direct-f32"}) {
        expect_same(graph(points.view(), 120, on_cpu("sqeuclidean", "exact")),
                    graph(points.view(), 120, on_cpu("sqeuclidean", path)), path);
    }
}

}  // namespace
