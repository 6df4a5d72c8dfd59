// The matrix of all distances: what a search says of each pair, in any form that a caller asks for it.
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <random>

#include "distance_cases.h"
#include "kith/functor.h"
#include "kith/kith.h"
#include "refusal.h"

namespace {

using namespace kith;

class DistancesOfMetric : public testing::TestWithParam<std::string> {};

TEST_P(DistancesOfMetric, AreThoseOfASearch) {
    distance_cases::same_as_search("cpu", GetParam());
}

INSTANTIATE_TEST_SUITE_P(Metric, DistancesOfMetric, testing::ValuesIn(metric_names()),
                         [](const auto& info) { return info.param; });

std::vector<float> gaussian(std::int64_t count) {
    std::mt19937 random(5);
    std::normal_distribution<float> normal;
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& x : values) x = normal(random);
    return values;
}

Options on_cpu() {
    Options options;
    options.device = "cpu";
    return options;
}

TEST(Distances, GoIntoRowsOfTheCaller) {
    constexpr std::int64_t n = 70, q = 9, d = 5, stride = 73;
    const std::vector<float> points = gaussian(n * d), queries = gaussian(q * d + 1);
    const MatrixView p = view(points.data(), n, d), r = view(queries.data() + 1, q, d);
    const Distances whole = distances(p, r, on_cpu());
    std::vector<float> rows(q * stride, -1);
    distances_into(p, r, on_cpu(), {rows.data(), stride});
    for (std::int64_t i = 0; i < q * stride; ++i) {
        const std::int64_t row = i / stride, column = i % stride;
        const float want = column < n ? whole.values[static_cast<std::size_t>(row * n + column)] : -1;
        ASSERT_EQ(want, rows[static_cast<std::size_t>(i)]) << i;
    }
}

TEST(Distances, ComeByRows) {
    // Rows of 4 MB: sixteen to a block.
    constexpr std::int64_t n = 1 << 20, q = 35, d = 1;
    const std::vector<float> points = gaussian(n), queries = gaussian(q);
    const MatrixView p = view(points.data(), n, d), r = view(queries.data(), q, d);
    Options options = on_cpu();
    const Distances whole = distances(p, r, options);
    std::vector<std::int64_t> counts;
    std::int64_t next = 0;
    distances_by_rows(p, r, options, [&](std::int64_t first, std::int64_t count, const void* rows) {
        EXPECT_EQ(next, first);
        counts.push_back(count);
        ASSERT_EQ(0, std::memcmp(whole.values.data() + first * n, rows, static_cast<std::size_t>(count * n) * 4));
        next += count;
    });
    EXPECT_EQ((std::vector<std::int64_t>{16, 16, 3}), counts);
    // What is thrown there ends the call, and nothing comes twice.
    int calls = 0;
    EXPECT_THROW(distances_by_rows(p, r, options,
                                   [&](std::int64_t, std::int64_t, const void*) {
                                       if (++calls == 2) throw Error(ErrorCode::out_of_memory, "disk full");
                                   }),
                 Error);
    EXPECT_EQ(2, calls);
}

TEST(Distances, AreTheSameOnAnyNumberOfThreadsAndInstructionSet) {
    constexpr std::int64_t n = 1500, q = 130, d = 77;
    const std::vector<float> points = gaussian(n * d), queries = gaussian(q * d);
    const MatrixView p = view(points.data(), n, d), r = view_column_major(queries.data(), q, d);
    Options options = on_cpu();
    options.metric = metric_named("cosine");
    const std::vector<float> want = distances(p, r, options).values;
    for (const int threads : {1, 2, 7}) {
        for (const char* isa : {"baseline", ""}) {
            options.threads = threads;
            options.isa = isa;
            EXPECT_TRUE(distance_cases::same_values(want, distances(p, r, options).values));
        }
    }
}

TEST(Distances, OfFormulasAndFunctors) {
    constexpr std::int64_t n = 60, q = 7, d = 4;
    std::vector<float> points = gaussian(n * d), queries = gaussian(q * d);
    points[5 * d + 2] = queries[3 * d] = std::numeric_limits<float>::quiet_NaN();
    const MatrixView p = view(points.data(), n, d), r = view(queries.data(), q, d);
    Options options = on_cpu();
    options.metric = metric_named("cityblock");
    options.f64 = true;
    const std::vector<double> want = distances(p, r, options).values64;
    EXPECT_TRUE(std::isnan(want[5]));
    EXPECT_TRUE(std::isnan(want[3 * n]));
    options.metric = MetricId::formula;
    options.metric.formula = "a + fabs(q - x)";
    const std::vector<double> got = distances(p, r, options).values64;
    for (std::size_t i = 0; i < want.size(); ++i) {
        if (std::isnan(want[i])) EXPECT_TRUE(std::isnan(got[i])) << i;
        else EXPECT_NEAR(want[i], got[i], 1e-13) << i;
    }
}

TEST(Distances, AreCancelled) {
    constexpr std::int64_t n = 200'000, d = 64;
    const std::vector<float> points = gaussian(n * d);
    const MatrixView p = view(points.data(), n, d);
    Options options = on_cpu();
    options.progress = [](const Progress& progress) { return std::string_view(progress.stage) != "distances"; };
    try {
        distances_by_rows(p, p, options, [](std::int64_t, std::int64_t, const void*) {});
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(ErrorCode::cancelled, error.code());
    }
}

TEST(Distances, RefuseWhatMakesNoSense) {
    const std::vector<float> values = gaussian(40);
    const MatrixView p = view(values.data(), 10, 4), r = view(values.data(), 3, 4);
    std::array<float, 30> out{};
    const auto refusal = [&](const MatrixView& queries, const Options& options, DistancesView into) {
        return refusals::refusal([&] { distances_into(p, queries, options, into); });
    };
    const auto with = [](const auto& change) {
        Options options = on_cpu();
        change(options);
        return options;
    };
    EXPECT_EQ("", refusal(r, on_cpu(), {out.data()}));
    EXPECT_NE(std::string::npos, refusal(r, on_cpu(), {nullptr}).find("out.data"));
    EXPECT_NE(std::string::npos, refusal(r, on_cpu(), {out.data(), 9}).find("out.stride: 9"));
    EXPECT_NE(std::string::npos, refusal(r, on_cpu(), {out.data(), 10, 99}).find("99"));
    EXPECT_NE(std::string::npos, refusal(view(values.data(), 3, 5), on_cpu(), {out.data()}).find("5"));
    const auto path = with([](Options& o) { o.path = "gemm-f32"; });
    EXPECT_NE(std::string::npos, refusal(r, path, {out.data()}).find("gemm-f32"));
    const auto kernel = with([](Options& o) { o.path = "garcia"; });
    EXPECT_NE(std::string::npos, refusal(r, kernel, {out.data()}).find("path: 'garcia'"));
    const auto composed = with([](Options& o) { o.path = "garcia+bits"; });
    EXPECT_NE(std::string::npos, refusal(r, composed, {out.data()}).find("estimated in f32 by one of baseline"));
    const auto selector = with([](Options& o) { o.selector = "heap"; });
    EXPECT_NE(std::string::npos, refusal(r, selector, {out.data()}).find("heap"));
    const auto negative = with([](Options& o) { o.metric = metric_named("jensenshannon"); });
    EXPECT_NE(std::string::npos, refusal(r, negative, {out.data()}).find("row"));
    EXPECT_THROW(distances_by_rows(p, r, on_cpu(), {}), Error);
}

}  // namespace
