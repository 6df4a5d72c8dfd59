// Data for which a filter keeps too much: the queries are given to what comes after it, on the CPU, the report says
// why, and the call can be cancelled meanwhile.
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "exact/progress.h"
#include "kith/kith.h"

namespace {

using namespace kith;

struct Data {
    std::int64_t n, q, d;
    std::vector<float> points, queries;

    MatrixView points_view() const { return view(points.data(), n, d); }
    MatrixView queries_view() const { return view(queries.data(), q, d); }
};

// Corners of a cube around its centre, which the queries are: all points are equally near, and no two are equal.
Data corners(std::int64_t n, std::int64_t q) {
    constexpr std::int64_t d = 64;
    std::mt19937_64 random(11);
    Data data{n, q, d, {}, std::vector<float>(static_cast<std::size_t>(q * d), 3.0f)};
    for (std::int64_t i = 0; i < n * d; ++i) data.points.push_back(random() % 2 ? 2.0f : 4.0f);
    return data;
}

Options options_of(const std::string& metric, const std::string& path) {
    Options options;
    options.device = "cpu";
    options.threads = 2;
    options.metric = metric_named(metric);
    options.path = path;
    return options;
}

// Few queries are compared with the rows themselves, more with packed ones: either gives up what it cannot tell apart.
TEST(Fallbacks, EveryFilterGivesQueriesUp) {
    for (const std::int64_t q : {7, 100}) {
        const Data data = corners(12000, q);
        // Of the last three the terms of the two coordinates differ.
        for (const auto& [metric, path, ties] : {std::tuple{"sqeuclidean", "gemm-f32", true},
                                                 {"cityblock", "direct-f32", true},
                                                 {"chebyshev", "direct-f32", true},
                                                 {"hamming", "direct-f32", true},
                                                 {"canberra", "direct-f32", false},
                                                 {"cosine", "gemm-f32", false},
                                                 {"inner_product", "gemm-f32", false}}) {
            const Neighbors got = search(data.points_view(), data.queries_view(), 10, options_of(metric, path));
            const Neighbors expected = search(data.points_view(), data.queries_view(), 10, options_of(metric, "exact"));
            EXPECT_EQ(expected.ids, got.ids) << metric << ", " << q;
            EXPECT_EQ(expected.distances, got.distances) << metric << ", " << q;
            EXPECT_EQ(ties ? q : 0, got.report.scanned) << metric << ", " << q;
            EXPECT_LT(got.report.candidates, 1.6 * got.report.pairs) << metric << ", " << q;
        }
    }
}

// Queries of the report for whose retry or scan that is a reason.
std::int64_t queries_for(const Report& report, const std::string& words) {
    std::int64_t queries = 0, retried = 0, scanned = 0, last = std::numeric_limits<std::int64_t>::max();
    for (const Fallback& f : report.fallbacks) {
        if (f.why.find(words) != std::string::npos) queries += f.queries;
        (f.scanned ? scanned : retried) += f.queries;
        EXPECT_LE(f.queries, last);
        EXPECT_FALSE(f.help.empty());
        last = f.queries;
    }
    EXPECT_EQ(report.retried, retried);
    EXPECT_EQ(report.scanned, report.path == "exact" ? report.queries : scanned);
    return queries;
}

TEST(Fallbacks, TheReportSaysWhy) {
    const float inf = std::numeric_limits<float>::infinity();
    std::mt19937_64 random(12);
    std::normal_distribution<float> normal;
    for (const std::int64_t q : {7, 100}) {
        Data data = corners(12000, q);
        const auto report = [&](const std::string& path) {
            return search(data.points_view(), data.queries_view(), 10, options_of("sqeuclidean", path)).report;
        };
        EXPECT_EQ(q, queries_for(report("gemm-f32"), "exactly as near"));
        EXPECT_EQ(0, queries_for(report("exact"), ""));
        for (float& x : data.points) x = normal(random);
        for (float& x : data.queries) x = normal(random);
        EXPECT_EQ(0, queries_for(report("gemm-f32"), ""));
        for (std::int64_t row = 0; row < 5; ++row) data.queries[static_cast<std::size_t>(row * data.d)] = inf;
        EXPECT_EQ(q > 16 ? 5 : 0, queries_for(report("gemm-f32"), "does not cover the query"));
        for (std::int64_t row = 0; row < data.n; row += 2) data.points[static_cast<std::size_t>(row * data.d)] = inf;
        EXPECT_EQ(q > 16 ? q : 0, queries_for(report("gemm-f32"), "covers the points"));
    }
}

// Pairs of points that differ by less than any filter's error.
TEST(Fallbacks, DifferencesBelowTheFiltersError) {
    constexpr std::int64_t n = 12000, q = 40, d = 16;
    std::mt19937_64 random(13);
    std::normal_distribution<double> normal;
    std::vector<double> points, queries;
    const auto fill = [&](std::vector<double>& rows, std::int64_t count) {
        for (std::int64_t i = 0; i < count * d; ++i) rows.push_back((i / d % 2 ? 10 : -10) + 1e-9 * normal(random));
    };
    fill(points, n);
    fill(queries, q);
    const Report report =
        search(view(points.data(), n, d), view(queries.data(), q, d), 10, options_of("sqeuclidean", "gemm-f32")).report;
    EXPECT_EQ(q, queries_for(report, "less than the filter's error"));
}

// While queries that a filter gave up are scanned the callback is asked, never of more than there is to do, and ends
// the call within half a second.
TEST(Fallbacks, AScanIsWatchedAndCancelled) {
    const Data data = corners(20000, 600);
    for (const std::string path : {"gemm-f32", ""}) {
        for (const std::string metric : {"sqeuclidean", "chebyshev"}) {
            Options options = options_of(metric, metric == "chebyshev" ? "direct-f32" : path);
            ProgressMeter::milliseconds_between = 0;
            double before = 0;
            bool again = false;
            std::chrono::steady_clock::time_point refused;
            options.progress = [&](const Progress& progress) {
                EXPECT_LE(progress.done, progress.total);
                // Pairs that the filter had counted count again; the scan has done some of them.
                again |= progress.done < before;
                before = progress.done;
                refused = std::chrono::steady_clock::now();
                return !again || progress.done < 0.2 * progress.total;
            };
            try {
                search(data.points_view(), data.queries_view(), 10, options);
                ADD_FAILURE() << metric << ": not cancelled";
            } catch (const Error& error) {
                EXPECT_EQ(ErrorCode::cancelled, error.code());
            }
            EXPECT_LT(std::chrono::steady_clock::now() - refused, std::chrono::milliseconds(500)) << metric;
            ProgressMeter::milliseconds_between = 100;
        }
    }
}

}  // namespace
