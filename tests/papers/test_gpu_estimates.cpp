// All distances by a distance kernel alone: estimates in f32 next to the canonical distances, of every metric with a
// direct form, wherever points, queries and the result lie.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "distance_cases.h"
#include "gpu_arrays.h"
#include "kith/distances.h"
#include "papers/distance/distance_kernels.h"
#include "papers/plan.h"
#include "refusal.h"
#include "search_cases.h"

namespace {

using namespace kith;
using distance_cases::waves;

class EstimatesBy : public testing::TestWithParam<gpu::DistanceKernel> {
protected:
    void SetUp() override {
        if (GetParam().expanded() && !papers::products_absence().empty()) GTEST_SKIP() << papers::products_absence();
    }
    std::string kernel() const { return GetParam().name; }
    // The square of near rows cancels in the expanded form, and its root is no nearer than this.
    double least() const { return GetParam().expanded() ? 0.05 : 1e-3; }

    // Estimates near the canonical distances, and NaN where these are.
    void near(const std::vector<double>& want, const std::vector<float>& got, const std::string& label) const {
        ASSERT_EQ(want.size(), got.size()) << label;
        for (std::size_t i = 0; i < want.size(); ++i) {
            if (std::isnan(want[i])) ASSERT_TRUE(std::isnan(got[i])) << label << ", value " << i;
            else ASSERT_NEAR(want[i], double{got[i]}, 0x1p-7 * std::abs(want[i]) + least()) << label << ", value " << i;
        }
    }
    std::vector<double> canonical(const MatrixView& points, const MatrixView& queries, Options options) const {
        options.device = "cpu";
        options.path.clear();
        options.f64 = true;
        options.memory = 0;
        return distances(points, queries, options).values64;
    }
    Options options() const {
        Options o;
        o.device = "cuda:0";
        o.path = kernel();
        return o;
    }
};

// f64 counts that f32 does not hold, and powers too high for rounded rows, have no estimate.
bool is_held(const std::string& metric, ElementType type) {
    if (type != ElementType::f64) return true;
    return metric == "sqeuclidean" || metric == "euclidean" || metric == "cityblock" || metric == "chebyshev";
}

TEST_P(EstimatesBy, EveryMetricWithADirectForm) {
    const search_cases::Size sizes[] = {{300, 40, 33, 1}, {129, 130, 5, 1}, {1, 1, 3, 1}};
    std::uint64_t turn = 0;
    int served = 0;
    for (const std::string& metric : metric_names())
        for (const char* data : {"gaussian", "uniform", "nan_rows", "duplicates"})
            for (search_cases::Size size : sizes) {
                if (const int fixed = oracle::definition(metric).dimensions) size.d = fixed;
                const auto type = arrays::element_types[++turn % 6];
                const auto all = variants(metric, size.d, type);
                if (all.empty() || !is_held(metric, type)) continue;
                const auto c = search_cases::make_case(all[turn % all.size()], data, size, type, type,
                                                       arrays::shapes[turn % 3], turn);
                Options o = search_cases::options_of("cuda:0", c.variant, {kernel(), "", 0, false}, false);
                Distances got;
                const std::string said = refusals::refusal([&] { got = distances(c.points.view, c.queries.view, o); });
                if (!said.empty()) {
                    EXPECT_TRUE(said.find("direct form") != std::string::npos ||
                                said.find("squared differences") != std::string::npos)
                        << said;
                    continue;
                }
                ++served;
                EXPECT_EQ(kernel(), got.report.path);
                near(canonical(c.points.view, c.queries.view, o), got.values, c.label);
            }
    EXPECT_GE(served, GetParam().expanded() ? 10 : 60);
}

// Chunks that stream, several matrices of a tile, blocks of rows: the same estimates as in one piece.
TEST_P(EstimatesBy, PointsThatStreamAndBlocksOfRows) {
    constexpr std::int64_t n = 9000, q = 300, d = 48;
    std::vector<float> points = waves(n * d), queries = waves(q * d + 1);
    points[77 * d] = queries[200 * d + 1] = std::numeric_limits<float>::quiet_NaN();
    const MatrixView p = view(points.data(), n, d), r = view(queries.data() + 1, q, d);
    Options o = options();
    const std::vector<double> want = canonical(p, r, o);
    near(want, distances(p, r, o).values, "whole");
    int served = 0;
    for (o.memory = std::int64_t{1} << 20; o.memory <= std::int64_t{1} << 28; o.memory *= 4) {
        Distances got;
        if (!refusals::refusal([&] { got = distances(p, r, o); }, ErrorCode::out_of_memory).empty()) continue;
        near(want, got.values, std::to_string(o.memory));
        ++served;
    }
    EXPECT_GE(served, 2);
    o.memory = 0;
    std::vector<float> rows;
    distances_by_rows(p, r, o, [&](std::int64_t first, std::int64_t count, const void* values) {
        ASSERT_EQ(static_cast<std::int64_t>(rows.size()), first * n);
        const auto* from = static_cast<const float*>(values);
        rows.insert(rows.end(), from, from + count * n);
    });
    near(want, rows, "by rows");
}

TEST_P(EstimatesBy, ResultsOnTheDevice) {
    constexpr std::int64_t n = 300, q = 20, d = 16, stride = 310;
    const std::vector<float> points = waves(n * d), queries = waves(q * d);
    const MatrixView p = view(points.data(), n, d), r = view(queries.data(), q, d);
    const std::vector<double> want = canonical(p, r, options());
    const gpu_arrays::Buffer<float> out(q * stride);
    const float untouched = out.host()[0];
    distances_into(p, r, options(), {out.data(), stride, 0});
    const std::vector<float> got = out.host();
    for (std::int64_t i = 0; i < q * stride; ++i) {
        const std::int64_t row = i / stride, column = i % stride;
        const auto value = got[static_cast<std::size_t>(i)];
        if (column < n) ASSERT_NEAR(want[static_cast<std::size_t>(row * n + column)], value, 1e-3) << i;
        else ASSERT_EQ(untouched, value) << i;
    }
}

// Rows that the words do not hold have no estimate; large sums are infinite.
TEST_P(EstimatesBy, RowsWithoutAValue) {
    constexpr std::int64_t n = 4, d = 3;
    std::vector<float> points(n * d, 1.0f);
    points[1 * d] = std::numeric_limits<float>::infinity();
    points[2 * d + 1] = 3.0f;
    const MatrixView p = view(points.data(), n, d);
    const std::vector<float> got = distances(p, p, options()).values;
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
            const float value = got[static_cast<std::size_t>(i * n + j)];
            if (i == 1 || j == 1) EXPECT_TRUE(std::isnan(value)) << i << ", " << j;
            else EXPECT_NEAR((i == 2) != (j == 2) ? 4.0 : 0.0, value, 1e-3) << i << ", " << j;
        }
}

TEST_P(EstimatesBy, OtherRequestsAreRefused) {
    const std::vector<float> points = waves(40);
    const MatrixView p = view(points.data(), 10, 4);
    const auto refusal = [&](const auto& change) {
        Options o = options();
        change(o);
        return refusals::refusal([&] { distances(p, p, o); });
    };
    EXPECT_EQ("", refusal([](Options&) {}));
    EXPECT_NE(std::string::npos, refusal([](Options& o) { o.device = "cpu"; }).find("one GPU"));
    EXPECT_NE(std::string::npos, refusal([](Options& o) { o.f64 = true; }).find("f64: true"));
    EXPECT_NE(std::string::npos, refusal([](Options& o) { o.path += "+bits"; }).find("'" + kernel() + "+bits'"));
    EXPECT_NE(std::string::npos, refusal([](Options& o) { o.metric = metric_named("cosine"); }).find("direct form"));
    EXPECT_NE(std::string::npos, refusal([](Options& o) {
                                     o.metric = MetricId::formula;
                                     o.metric.formula = "a + fabs(q - x)";
                                 }).find("built-in metric"));
}

std::string test_name(const testing::TestParamInfo<gpu::DistanceKernel>& info) {
    std::string name = info.param.name;
    std::ranges::replace(name, '-', '_');
    return name;
}
INSTANTIATE_TEST_SUITE_P(Gpu, EstimatesBy, testing::ValuesIn(gpu::distance_kernels), test_name);

}  // namespace
