// Queries that the filter does not answer at once: certified by the retry with a certain threshold, by leaving out
// equal rows, or scanned; the report says why. And shapes that small tests do not reach.
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kith/kith.h"
#include "metric_variants.h"

namespace {

using namespace kith;

constexpr std::int64_t n = 70000, q = 100, d = 12, k = 10;

std::vector<float> gaussian(std::int64_t rows, std::int64_t cols, unsigned seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<float> normal;
    std::vector<float> out(static_cast<std::size_t>(rows * cols));
    for (float& x : out) x = normal(random);
    return out;
}

Options options_of(const char* path) {
    Options options;
    options.device = "cuda";
    options.path = path;
    options.f64 = true;
    return options;
}

// The report of a search that equals the scan.
Report report_of(const std::vector<float>& points, const std::vector<float>& queries) {
    const MatrixView p = view(points.data(), n, d), some = view(queries.data(), q, d);
    const Neighbors truth = search(p, some, k, options_of("exact")), found = search(p, some, k, options_of(""));
    EXPECT_EQ(truth.ids, found.ids);
    EXPECT_EQ(truth.distances64, found.distances64);
    EXPECT_TRUE(truth.report.fallbacks.empty());
    std::int64_t retried = 0, scanned = 0;
    for (const Fallback& f : found.report.fallbacks) (f.scanned ? scanned : retried) += f.queries;
    EXPECT_EQ(found.report.retried, retried);
    EXPECT_EQ(found.report.scanned, scanned);
    return found.report;
}

bool says(const Report& report, std::int64_t queries, const std::string& words) {
    for (const Fallback& f : report.fallbacks)
        if (f.queries == queries && f.why.find(words) != std::string::npos) return true;
    return false;
}

// A thousand points about each query that fp16 cannot tell apart: more than the lists of so few queries hold at first,
// and fewer than the largest do.
TEST(GpuRetries, TheLargestListCertifies) {
    constexpr std::int64_t clusters = 70;
    const std::vector<float> centres = gaussian(clusters, d, 1);
    const auto near = [&](std::int64_t rows, unsigned seed) {
        std::vector<float> values = gaussian(rows, d, seed);
        for (std::int64_t i = 0; i < rows * d; ++i) {
            float& x = values[static_cast<std::size_t>(i)];
            x = centres[static_cast<std::size_t>(i / d % clusters * d + i % d)] + 1e-4f * x;
        }
        return values;
    };
    const Report report = report_of(near(n, 2), near(q, 3));
    EXPECT_EQ(q, report.retried);
    EXPECT_EQ(0, report.scanned);
    EXPECT_LT(report.candidates, 3000.0 * q);
    EXPECT_TRUE(says(report, q, "list of candidates holds"));
}

TEST(GpuRetries, EqualRowsAreSaidToBe) {
    std::vector<float> points = gaussian(n, d, 4);
    for (std::size_t i = d; i < points.size(); ++i) points[i] = points[i - d];
    const Report report = report_of(points, gaussian(q, d, 5));
    EXPECT_EQ(0, report.scanned);
    EXPECT_TRUE(says(report, q, "equal to each other"));
}

TEST(GpuRetries, QueriesOutOfRangeAreScanned) {
    std::vector<float> queries = gaussian(q, d, 6);
    for (std::int64_t row = 0; row < 30; row += 3)
        queries[static_cast<std::size_t>(row * d)] = std::numeric_limits<float>::infinity();
    const Report report = report_of(gaussian(n, d, 7), queries);
    EXPECT_EQ(10, report.scanned);
    EXPECT_TRUE(says(report, 10, "does not cover the query"));
}

// So many points that there are two samples; the other tests of a factor have fewer.
TEST(GpuRetries, ManyPointsAfterAFactor) {
    constexpr std::int64_t many = 90000, some = 600, dimensions = 24;
    const std::vector<double> matrix = positive_definite(dimensions, 8);
    const std::vector<float> points = gaussian(many, dimensions, 9), queries = gaussian(some, dimensions, 10);
    const auto found = [&](const char* path) {
        Options options = options_of(path);
        options.metric = MetricId::mahalanobis;
        options.metric.inverse_covariance = view(matrix.data(), dimensions, dimensions);
        return search(view(points.data(), many, dimensions), view(queries.data(), some, dimensions), k, options);
    };
    const Neighbors truth = found("exact"), filtered = found("");
    EXPECT_EQ(truth.ids, filtered.ids);
    EXPECT_EQ(truth.distances64, filtered.distances64);
    EXPECT_EQ("gemm-f16", filtered.report.path);
    EXPECT_EQ(0, filtered.report.scanned);
    EXPECT_LT(filtered.report.candidates, 0.01 * filtered.report.pairs);
}

}  // namespace
