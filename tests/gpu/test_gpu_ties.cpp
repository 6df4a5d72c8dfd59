// Points of which so many are alike that lists of candidates cannot hold them: equal rows, zero rows, queries that all
// points are as far from, queries with a NaN. None of them is a reason to scan.
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kith/kith.h"
#include "same_answer.h"

namespace {

using namespace kith;

constexpr std::int64_t n = 70000, q = 40, d = 12, k = 15;

std::vector<float> gaussian(std::int64_t rows, unsigned seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<float> normal;
    std::vector<float> out(static_cast<std::size_t>(rows * d));
    for (float& x : out) x = normal(random);
    return out;
}

void set_row(std::vector<float>& values, std::int64_t row, const float* to) {
    for (std::int64_t i = 0; i < d; ++i) values[static_cast<std::size_t>(row * d + i)] = to ? to[i] : 0.0f;
}

// One search, an Index twice (the second time it knows which rows are equal) and a graph of some, against the scan.
void none_is_scanned(const std::vector<float>& points, const std::vector<float>& queries, MetricId metric,
                     const std::string& what) {
    Options options;
    options.device = "cuda";
    options.metric = metric;
    options.f64 = true;
    const MatrixView p = view(points.data(), n, d), some = view(queries.data(), q, d);
    const Index index(p, options);
    for (const char* path : {"", "direct-f32"}) {
        if (*path && metric != MetricId::sqeuclidean) continue;
        options.path = "exact";
        const Neighbors truth = search(p, some, k, options);
        options.path = *path ? path : "gemm-f16";  // for so few pairs a scan takes less
        for (int turn = 0; turn < 3; ++turn) {
            const Neighbors found = turn == 0 || *path ? search(p, some, k, options) : index.search(some, k, options);
            EXPECT_TRUE(same_answer(truth, found)) << what << ", turn " << turn << " " << path;
            EXPECT_EQ(0, found.report.scanned) << what << ", turn " << turn << " " << path;
            if (turn == 2 && !*path) {
                EXPECT_EQ(q, found.report.certified) << what;
            }
        }
    }
}

// Rows that are there so often that their copies are most candidates: searches of an Index leave them out once they
// have cost enough.
TEST(GpuTies, CopiesAreLeftOutOfLaterSearches) {
    constexpr std::int64_t sources = 100;
    std::vector<float> points = gaussian(n, 11);
    for (std::int64_t row = sources; row < n; ++row) set_row(points, row, points.data() + row % sources * d);
    for (const std::int64_t many : {q, std::int64_t{600}}) {
        const std::vector<float> queries = gaussian(many, 12);
        const MatrixView some = view(queries.data(), many, d);
        Options options;
        options.device = "cuda";
        options.f64 = true;
        const Index index(view(points.data(), n, d), options);
        const Neighbors first = index.search(some, k, options), second = index.search(some, k, options);
        options.path = "exact";
        const Neighbors truth = index.search(some, k, options);
        const auto wanted = static_cast<double>(many * k);
        EXPECT_GT(first.report.candidates, 40 * wanted);
        EXPECT_LT(second.report.candidates, 4 * wanted);
        EXPECT_EQ(many, second.report.certified);
        for (const Neighbors* found : {&first, &second}) {
            EXPECT_TRUE(same_answer(truth, *found));
        }
    }
}

// Lists that ties fill in a sample get the room that they need: rows of few values, of which many are as far.
TEST(GpuTies, ListsThatTiesFillGrow) {
    constexpr std::int64_t many = 600, rows = 300000;
    std::mt19937_64 random(13);
    const auto few_values = [&](std::int64_t count) {
        std::vector<float> out(static_cast<std::size_t>(count * d));
        for (float& x : out) x = static_cast<float>(random() % 3 == 0);
        return out;
    };
    const std::vector<float> points = few_values(rows), queries = few_values(many);
    for (const std::int64_t count : {rows, std::int64_t{20000}}) {
        Options options;
        options.device = "cuda";
        options.f64 = true;
        const MatrixView p = view(points.data(), count, d), some = view(queries.data(), many, d);
        const Neighbors found = search(p, some, k, options);
        options.path = "exact";
        const Neighbors truth = search(p, some, k, options);
        EXPECT_TRUE(same_answer(truth, found));
        EXPECT_EQ(0, found.report.scanned);
        EXPECT_LT(found.report.retried, many / 10);
    }
}

TEST(GpuTies, AllRowsAreEqual) {
    std::vector<float> points = gaussian(n, 1);
    for (std::int64_t row = 1; row < n; ++row) set_row(points, row, points.data());
    for (const MetricId metric : {MetricId::sqeuclidean, MetricId::cosine, MetricId::inner_product})
        none_is_scanned(points, gaussian(q, 2), metric, "all equal");
}

TEST(GpuTies, HalfOfTheRowsAreTwo) {
    std::vector<float> points = gaussian(n, 3);
    const std::vector<float> queries = gaussian(q, 4), two = gaussian(2, 5);
    for (std::int64_t row = 0; row < n; ++row)
        if (row % 2) set_row(points, row, two.data() + row / 2 % 2 * d);
    // And some that differ from these in one bit.
    for (std::int64_t row = 1; row < n; row += 1000) points[static_cast<std::size_t>(row * d)] *= 1 + 0x1p-23f;
    std::vector<float> near = queries;
    for (std::int64_t row = 0; row < q; row += 2) set_row(near, row, two.data() + row / 2 % 2 * d);
    for (const MetricId metric : {MetricId::sqeuclidean, MetricId::cosine})
        none_is_scanned(points, near, metric, "half of two");
}

TEST(GpuTies, ZeroRowsAndQueriesThatAllPointsAreAlikeTo) {
    std::vector<float> points = gaussian(n, 6), queries = gaussian(q, 7);
    for (std::int64_t row = 0; row < n; row += 3) set_row(points, row, nullptr);
    for (std::int64_t row = 0; row < q; row += 4) set_row(queries, row, nullptr);
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (std::int64_t row = 0; row < 30; row += 2) points[static_cast<std::size_t>(row * d + 3)] = nan;
    for (std::int64_t row = 2; row < q; row += 8) queries[static_cast<std::size_t>(row * d)] = nan;
    for (const MetricId metric : {MetricId::sqeuclidean, MetricId::cosine, MetricId::correlation})
        none_is_scanned(points, queries, metric, "zero rows");
    // Around a common direction, where unit vectors are centred.
    for (std::int64_t row = 0; row < n; ++row)
        for (std::int64_t i = 0; i < d && row % 3; ++i) {
            float& x = points[static_cast<std::size_t>(row * d + i)];
            x = 20 + x;
        }
    for (std::int64_t row = 1; row < q; row += 4)
        for (std::int64_t i = 0; i < d; ++i) queries[static_cast<std::size_t>(row * d + i)] += 20;
    none_is_scanned(points, queries, MetricId::cosine, "zero rows and a common direction");
}

// NaN rows before all others, more than a list holds: whoever all points are alike to still has k neighbours.
TEST(GpuTies, RowsWithNaNBeforeAllOthers) {
    std::vector<float> points = gaussian(n, 9), queries = gaussian(q, 10);
    for (std::int64_t row = 0; row < 30000; ++row)
        points[static_cast<std::size_t>(row * d)] = std::numeric_limits<float>::quiet_NaN();
    for (std::int64_t row = 0; row < q; row += 2) set_row(queries, row, nullptr);
    Options options;
    options.device = "cuda";
    options.metric = MetricId::cosine;
    const MatrixView p = view(points.data(), n, d), some = view(queries.data(), q, d);
    const Neighbors found = search(p, some, k, options);
    options.path = "exact";
    const Neighbors truth = search(p, some, k, options);
    EXPECT_TRUE(same_answer(truth, found));
}

// A graph leaves itself out of its own ties: of equal rows, and of rows that all points are alike to.
TEST(GpuTies, GraphsOfEqualRows) {
    std::vector<float> half = gaussian(n, 8), few = half;
    for (std::int64_t row = 0; row < n; row += 2) set_row(half, row, row % 4 ? nullptr : half.data());
    for (const std::int64_t row : {std::int64_t{3}, k - 1, k, n / 2, n - 1}) set_row(few, row, nullptr);
    for (const auto* points : {&half, &few}) {
        for (const MetricId metric : {MetricId::sqeuclidean, MetricId::cosine}) {
            Options options;
            options.device = "cuda";
            options.metric = metric;
            const Index index(view(points->data(), n, d), options);
            const Neighbors found = index.graph(k, options), again = index.graph(k, options);
            options.path = "exact";
            const Neighbors truth = index.graph(k, options);
            EXPECT_TRUE(same_answer(truth, found));
            EXPECT_EQ(truth.ids, again.ids);
            EXPECT_EQ(0, found.report.scanned);
            EXPECT_EQ(0, again.report.scanned);
        }
    }
}

}  // namespace
