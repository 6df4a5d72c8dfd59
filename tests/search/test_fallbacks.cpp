// Data for which a filter keeps too much: the queries are given to what comes after it, on the CPU.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <tuple>
#include <vector>

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

}  // namespace
