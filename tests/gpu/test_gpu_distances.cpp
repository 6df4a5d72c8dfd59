// The matrix of all distances on a GPU: the bits of a search on the CPU, wherever points, queries and the result lie.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "distance_cases.h"
#include "gpu_arrays.h"
#include "kith/kith.h"

namespace {

using namespace kith;

class GpuDistances : public testing::TestWithParam<std::string> {};

TEST_P(GpuDistances, AreThoseOfASearch) {
    distance_cases::same_as_search("cuda:0", GetParam());
}

INSTANTIATE_TEST_SUITE_P(Metric, GpuDistances, testing::ValuesIn(metric_names()),
                         [](const auto& info) { return info.param; });

// A budget that holds neither all points nor a whole tile: chunks that stream, tiles of some queries and points.
TEST(GpuDistancesOf, PointsThatStreamAndSmallTiles) {
    constexpr std::int64_t n = 9000, q = 257, d = 48;
    std::vector<float> points = distance_cases::waves(n * d), queries = distance_cases::waves(q * d);
    points[77 * d] = queries[200 * d + 1] = std::numeric_limits<float>::quiet_NaN();
    const MatrixView p = view(points.data(), n, d), r = view(queries.data(), q, d);
    Options options;
    options.device = "cpu";
    const std::vector<float> want = distances(p, r, options).values;
    options.device = "cuda:0";
    EXPECT_TRUE(distance_cases::same_values(want, distances(p, r, options).values));
    int served = 0;
    for (options.memory = std::int64_t{1} << 18; options.memory <= std::int64_t{1} << 26; options.memory *= 4) {
        try {
            EXPECT_TRUE(distance_cases::same_values(want, distances(p, r, options).values)) << options.memory;
            ++served;
        } catch (const Error& error) {
            EXPECT_EQ(ErrorCode::out_of_memory, error.code()) << error.what();
        }
    }
    EXPECT_GE(served, 2);
}

// Into device memory with rows apart, from the GPU and from the CPU; what lies between the rows stays.
TEST(GpuDistancesOf, ResultsOnTheDevice) {
    constexpr std::int64_t n = 300, q = 20, d = 16, stride = 310;
    const std::vector<float> points = distance_cases::waves(n * d), queries = distance_cases::waves(q * d);
    const MatrixView p = view(points.data(), n, d), r = view(queries.data(), q, d);
    Options options;
    options.device = "cpu";
    const std::vector<float> want = distances(p, r, options).values;
    for (const char* device : {"cpu", "cuda:0"}) {
        options.device = device;
        const gpu_arrays::Buffer<float> out(q * stride);
        const float untouched = out.host()[0];
        distances_into(p, r, options, {out.data(), stride, 0});
        const std::vector<float> rows = out.host();
        for (std::int64_t i = 0; i < q * stride; ++i) {
            const std::int64_t row = i / stride, column = i % stride;
            ASSERT_EQ(column < n ? want[static_cast<std::size_t>(row * n + column)] : untouched,
                      rows[static_cast<std::size_t>(i)])
                << device << ", " << i;
        }
    }
}

TEST(GpuDistancesOf, Formulas) {
    constexpr std::int64_t n = 500, q = 33, d = 9;
    const std::vector<float> points = distance_cases::waves(n * d), queries = distance_cases::waves(q * d);
    const MatrixView p = view(points.data(), n, d), r = view(queries.data(), q, d);
    Options options;
    options.metric = MetricId::formula;
    options.metric.formula = "a + fabs(q - x) * x * x";
    options.f64 = true;
    options.device = "cpu";
    const std::vector<double> want = distances(p, r, options).values64;
    options.device = "cuda:0";
    EXPECT_TRUE(distance_cases::same_values(want, distances(p, r, options).values64));
}

}  // namespace
