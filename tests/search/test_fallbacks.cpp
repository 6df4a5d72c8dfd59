// Data for which a filter keeps too much: the queries are given to what comes after it, on the CPU, the report says
// why, and the call can be cancelled meanwhile.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "cpu/filter/tile/tile.h"
#include "cpu/simd/isa.h"
#include "cpu_searches.h"
#include "exact/report/progress.h"
#include "kith/kith.h"

namespace {

using namespace kith;
using cpu_searches::on_cpu;

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
            const Neighbors got = search(data.points_view(), data.queries_view(), 10, on_cpu(metric, path));
            const Neighbors expected = search(data.points_view(), data.queries_view(), 10, on_cpu(metric, "exact"));
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
    // Where a scan is asked for, it has no reason.
    EXPECT_EQ(report.scanned, report.fallbacks.empty() && report.path == "exact" ? report.queries : scanned);
    return queries;
}

TEST(Fallbacks, TheReportSaysWhy) {
    const float inf = std::numeric_limits<float>::infinity();
    std::mt19937_64 random(12);
    std::normal_distribution<float> normal;
    for (const std::int64_t q : {7, 100}) {
        Data data = corners(12000, q);
        const auto report = [&](const std::string& path) {
            return search(data.points_view(), data.queries_view(), 10, on_cpu("sqeuclidean", path)).report;
        };
        EXPECT_EQ(q, queries_for(report("gemm-f32"), "exactly as near"));
        EXPECT_EQ(0, queries_for(report("exact"), ""));
        for (float& x : data.points) x = normal(random);
        for (float& x : data.queries) x = normal(random);
        EXPECT_EQ(0, queries_for(report("gemm-f32"), ""));
        for (std::int64_t row = 0; row < 5; ++row) data.queries[static_cast<std::size_t>(row * data.d)] = inf;
        EXPECT_EQ(q > 16 ? 5 : 0, queries_for(report("gemm-f32"), "does not cover the query"));
        for (std::int64_t row = 0; row < data.n; row += 2) data.points[static_cast<std::size_t>(row * data.d)] = inf;
        const Report of_cosine =
            search(data.points_view(), data.queries_view(), 10, on_cpu("cosine", "gemm-f32")).report;
        EXPECT_EQ(q > 16 ? q : 0, queries_for(of_cosine, "covers the points"));
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
        search(view(points.data(), n, d), view(queries.data(), q, d), 10, on_cpu("sqeuclidean", "gemm-f32")).report;
    EXPECT_EQ(q, queries_for(report, "less than the filter's error"));
}

// "", where the planner takes a filter for so few points and queries, or one that serves the metric.
std::string chosen_filter(const Data& data, Options options) {
    Shape shape{data.n, data.q, data.d, 10, ElementType::f32};
    shape.prepared = true;
    options.path = "";
    if (plan(shape, options).path != Path::exact) return "";
    try {
        options.path = "gemm-f32";
        return path_name(plan(shape, options));
    } catch (const Error&) {
        return "direct-f32";
    }
}

// Equal to the scan, with none scanned; an Index knows at its second search which rows are equal.
void none_is_scanned(const Data& data, const std::string& metric, const std::string& what) {
    Options options = on_cpu(metric, "exact");
    const Neighbors truth = search(data.points_view(), data.queries_view(), 10, options);
    const Neighbors graph_truth = graph(data.points_view(), 10, options);
    options.path = chosen_filter(data, options);
    const Index index(data.points_view(), options);
    for (int turn = 0; turn < 2; ++turn) {
        const Neighbors found = index.search(data.queries_view(), 10, options);
        EXPECT_EQ(truth.ids, found.ids) << metric << ", " << what;
        EXPECT_EQ(truth.distances, found.distances) << metric << ", " << what;
        EXPECT_EQ(0, found.report.scanned) << metric << ", " << what;
        if (turn == 1) {
            EXPECT_EQ(data.q, found.report.certified) << metric << ", " << what;
        }
    }
    const Neighbors found = index.graph(10, options);
    EXPECT_EQ(graph_truth.ids, found.ids) << metric << ", " << what;
    EXPECT_EQ(0, found.report.scanned) << metric << ", " << what;
}

TEST(Fallbacks, EqualRowsAreNoReasonToScan) {
    std::mt19937_64 random(14);
    std::normal_distribution<float> normal;
    for (const std::int64_t d : {3, 20}) {
        Data data{2600, 90, d, {}, {}};
        for (std::int64_t i = 0; i < data.n * d; ++i) data.points.push_back(normal(random));
        for (std::int64_t i = 0; i < data.q * d; ++i) data.queries.push_back(normal(random));
        // Half of the rows are one, which some queries are, and some of these a bit away.
        const auto set_row = [&](std::vector<float>& rows, std::int64_t to, std::int64_t from) {
            std::copy_n(data.points.begin() + from * d, d, rows.begin() + to * d);
        };
        for (std::int64_t row = 2; row < data.n; row += 2) set_row(data.points, row, 0);
        for (std::int64_t row = 0; row < data.q; row += 2) set_row(data.queries, row, 0);
        for (std::int64_t row = 100; row < data.n; row += 100)
            data.points[static_cast<std::size_t>(row * d)] *= 1 + 0x1p-23f;
        for (const char* metric : {"sqeuclidean", "cosine", "cityblock", "canberra"}) {
            if (d == 3 && std::string_view(metric) == "cosine") continue;
            none_is_scanned(data, metric, "half are one");
        }
        for (std::int64_t row = 1; row < data.n; ++row) set_row(data.points, row, 0);
        for (const char* metric : {"sqeuclidean", "cosine", "inner_product", "cityblock", "hellinger"}) {
            if (std::string_view(metric) == "hellinger")
                for (std::vector<float>* rows : {&data.points, &data.queries})
                    for (float& x : *rows) x = std::abs(x);
            none_is_scanned(data, metric, "all equal");
        }
    }
}

// n points and q queries, all of them the same two rows.
Data all_equal(std::int64_t n, std::int64_t q) {
    constexpr std::int64_t d = 20;
    return {n, q, d, std::vector<float>(static_cast<std::size_t>(n * d), 1.0f),
            std::vector<float>(static_cast<std::size_t>(q * d), 2.0f)};
}

TEST(Fallbacks, EqualRowsAreSaidToBe) {
    const Data data = all_equal(6000, 60);
    const Options options = on_cpu("sqeuclidean", "gemm-f32");
    EXPECT_EQ(60,
              queries_for(search(data.points_view(), data.queries_view(), 10, options).report, "equal to each other"));
}

// Of more queries a sample of the rows is asked first, and nothing has to be retried.
TEST(Fallbacks, EqualRowsOfASampleAreLeftOutAtOnce) {
    const Data data = all_equal(6000, 256);
    for (const char* path : {"gemm-f32", "gemm-bf16", "gemm-i8", "projected", "direct-f32"}) {
        const bool pairs = cpu::pair_kernels(cpu::best_isa()), bytes = cpu::byte_kernels(cpu::best_isa());
        if ((std::string(path) == "gemm-bf16" && !pairs) || (std::string(path) == "gemm-i8" && !bytes)) continue;
        const Report report = search(data.points_view(), data.queries_view(), 10, on_cpu("sqeuclidean", path)).report;
        EXPECT_EQ(256, report.certified) << path;
        EXPECT_LT(report.candidates, 256 * 200) << path;
    }
}

// They are left out as soon as ties say that there are some: no other filter of all rows is tried before.
TEST(Fallbacks, EqualRowsAreCountedAtOnce) {
    if (!cpu::pair_kernels(cpu::best_isa())) GTEST_SKIP() << "no AVX512_BF16";
    const Data data = all_equal(6000, 60);
    const auto candidates = [&](const char* path) {
        return search(data.points_view(), data.queries_view(), 10, on_cpu("sqeuclidean", path)).report.candidates;
    };
    EXPECT_GT(1.2 * candidates("gemm-f32"), candidates("gemm-bf16"));
}

// All points are at distance 1 of a query of length 0, or their products with it 0: the first are its neighbours.
TEST(Fallbacks, QueriesWithoutADirection) {
    std::mt19937_64 random(15);
    std::normal_distribution<float> normal;
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (const float mean : {0.0f, 20.0f}) {  // around a common direction unit vectors are centred
        for (const std::int64_t q : {5, 60, 700}) {
            Data data{1500, q, 12, {}, {}};
            for (std::int64_t i = 0; i < data.n * data.d; ++i) data.points.push_back(mean + normal(random));
            for (std::int64_t i = 0; i < data.q * data.d; ++i) data.queries.push_back(mean + normal(random));
            for (std::int64_t row = 0; row < q; row += 3)
                std::fill_n(data.queries.begin() + row * data.d, data.d, 0.0f);
            for (std::int64_t row = 0; row < 60; row += 2) data.points[static_cast<std::size_t>(row * data.d)] = nan;
            std::fill_n(data.points.begin() + 3 * data.d, data.d, 0.0f);
            none_is_scanned(data, "cosine", "zero queries");
            none_is_scanned(data, "correlation", "zero queries");
            none_is_scanned(data, "inner_product", "zero queries");
            // Of an infinite coordinate the product is none.
            data.points[static_cast<std::size_t>(7 * data.d)] = std::numeric_limits<float>::infinity();
            const auto want = search(data.points_view(), data.queries_view(), 10, on_cpu("inner_product", "exact"));
            const auto got = search(data.points_view(), data.queries_view(), 10, on_cpu("inner_product", "gemm-f32"));
            cpu_searches::expect_same(want, got, "infinite");
            EXPECT_EQ(0, got.report.scanned);
        }
    }
}

// Points at an infinite distance of every query, some of which the bound does not cover: the first are its neighbours.
TEST(Fallbacks, EntropiesWithoutAnEnd) {
    constexpr std::int64_t n = 400, q = 20, d = 40;
    std::vector<double> points(n * d, 0.0), queries(q * d, 1.0);
    for (std::int64_t row = 15; row < n; row += 130) points[static_cast<std::size_t>(row * d)] = 1e-200;
    const MatrixView rows = view(points.data(), n, d), asked = view(queries.data(), q, d);
    for (const char* path : {"gemm-f32", ""}) {
        const auto want = search(rows, asked, 2, on_cpu("kl_divergence", "exact"));
        const auto got = search(rows, asked, 2, on_cpu("kl_divergence", path));
        cpu_searches::expect_same(want, got, path);
        EXPECT_EQ(0, got.ids[0]);
    }
}

// Squares of these underflow, products do not.
TEST(Fallbacks, ProductsWithTinyQueries) {
    std::mt19937_64 random(16);
    std::normal_distribution<double> normal;
    constexpr std::int64_t n = 2000, q = 40, d = 16;
    std::vector<double> points, queries;
    for (std::int64_t i = 0; i < n * d; ++i) points.push_back(normal(random));
    for (std::int64_t i = 0; i < q * d; ++i) queries.push_back(i / d % 2 ? 1e-200 * normal(random) : 0.0);
    queries[5] = 1e-310;
    for (const char* path : {"gemm-f32", "gemm-bf16", "projected"}) {
        const auto want =
            search(view(points.data(), n, d), view(queries.data(), q, d), 10, on_cpu("inner_product", "exact"));
        const auto got =
            search(view(points.data(), n, d), view(queries.data(), q, d), 10, on_cpu("inner_product", path));
        cpu_searches::expect_same(want, got, path);
    }
}

// Most points nearly equal, the others far from them in proportion to what these differ by: all are covered.
TEST(Fallbacks, ProductsWithPointsThatAreNearlyEqual) {
    std::mt19937_64 random(19);
    std::normal_distribution<double> normal;
    constexpr std::int64_t n = 12000, q = 70, d = 16;
    std::vector<double> points, queries;
    for (std::int64_t i = 0; i < n * d; ++i)
        points.push_back(i / d % 5 < 3 ? 0.1 + 1e-8 * normal(random) : 10 * normal(random));
    for (std::int64_t i = 0; i < q * d; ++i) queries.push_back(normal(random));
    const MatrixView rows = view(points.data(), n, d), asked = view(queries.data(), q, d);
    const auto got = search(rows, asked, 10, on_cpu("inner_product", "gemm-f32"));
    cpu_searches::expect_same(search(rows, asked, 10, on_cpu("inner_product", "exact")), got, "nearly equal");
    EXPECT_EQ(q, got.report.certified);
}

// Rows with a NaN are no reason to do without a filter, however many there are.
TEST(Fallbacks, MissingValues) {
    std::mt19937_64 random(17);
    std::uniform_real_distribution<float> uniform(0.1f, 1);
    for (const int missing : {50, 90, 99}) {  // of 100 rows
        Data data{9000, 70, 24, {}, {}};
        for (std::int64_t i = 0; i < data.n * data.d; ++i) data.points.push_back(uniform(random));
        for (std::int64_t i = 0; i < data.q * data.d; ++i) data.queries.push_back(uniform(random));
        for (std::int64_t row = 0; row < data.n; ++row)
            if (row % 100 < missing)
                data.points[static_cast<std::size_t>(row * data.d + row % data.d)] =
                    std::numeric_limits<float>::quiet_NaN();
        for (const char* metric : {"sqeuclidean", "inner_product", "cosine", "hellinger", "kl_divergence"}) {
            const auto want = search(data.points_view(), data.queries_view(), 10, on_cpu(metric, "exact"));
            const auto got = search(data.points_view(), data.queries_view(), 10, on_cpu(metric, "gemm-f32"));
            cpu_searches::expect_same(want, got, metric);
            EXPECT_EQ(0, got.report.scanned) << metric << ", " << missing;
            EXPECT_LT(got.report.candidates, 0.1 * got.report.pairs) << metric << ", " << missing;
        }
    }
}

// What all points have in common adds the same to every product with a query, and little to the filter's error.
TEST(Fallbacks, ProductsOfPointsWithAMean) {
    constexpr std::int64_t n = 9000, q = 90, d = 72;
    for (const double mean : {0.0, 3.0, 100.0, 1e4, 1e7, -1e12}) {
        std::mt19937_64 random(18);
        std::normal_distribution<double> normal;
        std::vector<double> points, queries;
        for (std::int64_t i = 0; i < n * d; ++i) points.push_back(mean * (1 + i % d % 3) + normal(random));
        // As the points are, around 0, and the other way; one of them zero.
        for (std::int64_t i = 0; i < q * d; ++i) queries.push_back((i / d % 3 - 1) * mean + normal(random));
        std::fill_n(queries.begin() + 17 * d, d, 0.0);
        for (std::int64_t row = 0; row < 40; ++row) std::copy_n(points.begin(), d, points.begin() + row * 200 * d);
        const std::vector<float> points_f32(points.begin(), points.end()), queries_f32(queries.begin(), queries.end());
        for (const char* path : {"gemm-f32", "gemm-bf16", "gemm-i8", "projected", "exact"}) {
            if (std::string(path) == "gemm-i8" && !cpu::byte_kernels(cpu::best_isa())) continue;
            if (std::string(path) == "gemm-bf16" && !cpu::pair_kernels(cpu::best_isa())) continue;
            for (const std::int64_t k : {1, 30}) {
                const std::string what = std::string(path) + ", mean " + std::to_string(mean);
                const auto want =
                    search(view(points.data(), n, d), view(queries.data(), q, d), k, on_cpu("inner_product", "exact"));
                const auto got =
                    search(view(points.data(), n, d), view(queries.data(), q, d), k, on_cpu("inner_product", path));
                cpu_searches::expect_same(want, got, what);
                const auto want_f32 = search(view(points_f32.data(), n, d), view(queries_f32.data(), q, d), k,
                                             on_cpu("inner_product", "exact"));
                cpu_searches::expect_same(want_f32,
                                          search(view(points_f32.data(), n, d), view(queries_f32.data(), q, d), k,
                                                 on_cpu("inner_product", path)),
                                          what + ", f32");
                if (std::string(path).starts_with("gemm-f") && std::abs(mean) < 1e6) {
                    EXPECT_EQ(0, got.report.scanned) << what;
                    EXPECT_LT(got.report.candidates, 0.1 * got.report.pairs) << what;
                }
            }
        }
    }
}

// While queries that a filter gave up are scanned the callback is asked, never of more than there is to do, and ends
// the call within half a second.
TEST(Fallbacks, AScanIsWatchedAndCancelled) {
    const Data data = corners(20000, 600);
    for (const std::string path : {"gemm-f32", ""}) {
        for (const std::string metric : {"sqeuclidean", "chebyshev"}) {
            Options options = on_cpu(metric, metric == "chebyshev" ? "direct-f32" : path);
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
