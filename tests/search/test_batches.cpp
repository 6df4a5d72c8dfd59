// search_batches() on the CPU: the bits of a search of each batch, by tasks and in turn; what is refused; the plan.
#include "batches_cases.h"
#include "exact/report/progress.h"
#include "kith/functor.h"
#include "plan/batches.h"
#include "same_answer.h"

namespace {

using namespace kith;
using batches_cases::expected;
using batches_cases::ragged;

constexpr std::int64_t n = 300, q = 330;

bool estimated(const Metric& m) {
    return (m.id == MetricId::mahalanobis && !m.inverse_covariance.data) ||
           (m.id == MetricId::seuclidean && !m.variances.data);
}

class CpuBatches : public testing::TestWithParam<std::string> {};

TEST_P(CpuBatches, AreSearchesOfEach) {
    std::uint64_t turn = GetParam().size();
    for (const char* data : {"gaussian", "lattice", "duplicates", "nan_rows", "infinities"}) {
        for (const ElementType type : {ElementType::f32, ElementType::u8, ElementType::f64}) {
            const std::int64_t d = GetParam() == "haversine" ? 2 : 5;
            const auto all = variants(GetParam(), d, type);
            const Variant& variant = all[turn % all.size()];
            if (estimated(variant.metric)) continue;
            const auto c =
                search_cases::make_case(variant, data, {n, q, d, 1}, type, type, arrays::shapes[turn % 3], turn);
            const std::int64_t k = turn % 2 ? 9 : 4;
            Options options = search_cases::options_of("cpu", variant, {}, turn % 3 == 0);
            const Neighbors want = expected(c, ragged(n, q), k, options);
            for (const int threads : {1, 2, 5}) {
                options.threads = threads;
                const Neighbors got = search_batches(c.points.view, c.queries.view, ragged(n, q), k, options);
                ASSERT_TRUE(same_answer(want, got)) << c.label << ", threads " << threads;
                ASSERT_EQ(q - 11, got.report.queries);
            }
            ++turn;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Metric, CpuBatches, testing::ValuesIn(metric_names()),
                         [](const auto& info) { return info.param; });

search_cases::Case a_case() {
    return search_cases::make_case(variants("sqeuclidean", 3, ElementType::f32).front(), "gaussian", {n, q, 3, 1},
                                   ElementType::f32, ElementType::f32, arrays::Shape::dense, 1);
}

TEST(Batches, OfTheCallersOwnMetrics) {
    const auto step = [](double a, double u, double v) { return a + std::fabs(u - v); };
    const FunctorMetric functor = functor_metric(step);
    std::vector<float> points, queries;
    for (int i = 0; i < 60; ++i) points.push_back(static_cast<float>(i * 7 % 23));
    for (int i = 0; i < 20; ++i) queries.push_back(static_cast<float>(i * 5 % 19));
    const MatrixView x = view(points.data(), 30, 2), y = view(queries.data(), 10, 2);
    const std::vector<Batch> batches{{0, 20, 0, 4}, {10, 20, 4, 6}};
    Options options;
    options.device = "cpu";
    options.metric = MetricId::cityblock;
    const Neighbors want = search_batches(x, y, batches, 3, options);
    options.metric = MetricId::functor;
    options.metric.functor = &functor;
    EXPECT_EQ(want.ids, search_batches(x, y, batches, 3, options).ids);
    options.metric.functor = nullptr;
    EXPECT_THROW(search_batches(x, y, batches, 3, options), Error);
    EXPECT_THROW(search_batches(x, y, {}, 3, options), Error);
    options.metric = MetricId::formula;
    options.metric.formula = "a + abs(q - x)";
    EXPECT_EQ(want.ids, search_batches(x, y, batches, 3, options).ids);
}

TEST(Batches, NoneAndEmptyOnes) {
    const auto c = a_case();
    Options options;
    options.device = "cpu";
    for (const auto& batches : {std::vector<Batch>{}, std::vector<Batch>{{}, {n, 0, q, 0}}}) {
        const Neighbors got = search_batches(c.points.view, c.queries.view, batches, 2, options);
        EXPECT_EQ(got.ids, std::vector<std::int64_t>(2 * q, -1));
        EXPECT_EQ(got.distances, std::vector<float>(2 * q, std::numeric_limits<float>::infinity()));
        EXPECT_EQ(0, got.report.queries);
    }
}

TEST(Batches, AreChecked) {
    const auto c = a_case();
    const auto refused = [&](const std::vector<Batch>& batches) -> std::string {
        try {
            search_batches(c.points.view, c.queries.view, batches, 2);
        } catch (const Error& error) {
            return error.what();
        }
        return "";
    };
    EXPECT_EQ("batches: points of batch 1: 1 rows from 300; there are 300", refused({{}, {n, 1, 0, 1}}));
    EXPECT_EQ("batches: queries of batch 0: -1 rows from 0; there are 330", refused({{0, 1, 0, -1}}));
    EXPECT_EQ("batches: points of batch 0: 9223372036854775807 rows from 1; there are 300",
              refused({{1, std::numeric_limits<std::int64_t>::max(), 0, 1}}));
    EXPECT_EQ("batches: queries of batch 1 begin at 9; expected 10 or more, behind those before",
              refused({{0, 5, 0, 10}, {5, 5, 9, 10}}));
}

TEST(Batches, RefusedCoordinatesAreNamedByTheirRow) {
    std::vector<float> x(300, 0.5f);
    x[2 * 90 + 1] = -1;
    x[2 * 120] = -2;
    const MatrixView points = view(x.data(), 150, 2);
    Options options;
    options.device = "cpu";
    options.metric = metric_named("hellinger");
    for (const int threads : {1, 3}) {
        options.threads = threads;
        try {
            search_batches(points, view(x.data(), 80, 2), {{0, 50, 0, 20}, {80, 20, 20, 20}, {110, 40, 40, 40}}, 2,
                           options);
            ADD_FAILURE() << "not refused";
        } catch (const Error& error) {
            EXPECT_EQ(ErrorCode::invalid_argument, error.code());
            EXPECT_EQ("points: row 90, column 1 is -1; hellinger expected values of at least 0",
                      std::string(error.what()));
        }
    }
}

TEST(Batches, ProgressCountsAllAndCancels) {
    const auto c = a_case();
    ProgressMeter::milliseconds_between = 0;
    Options options;
    options.device = "cpu";
    double last = 0, total = 0;
    options.progress = [&](const Progress& p) {
        EXPECT_LE(p.done, p.total);
        last = p.done;
        total = p.total;
        return true;
    };
    const Neighbors got = search_batches(c.points.view, c.queries.view, ragged(n, q), 3, options);
    EXPECT_EQ(got.report.pairs, total);
    EXPECT_EQ(total, last);
    for (const int threads : {1, 3}) {
        options.threads = threads;
        options.progress = [](const Progress&) { return false; };
        EXPECT_THROW(search_batches(c.points.view, c.queries.view, ragged(n, q), 3, options), Error);
    }
    ProgressMeter::milliseconds_between = 100;
}

planner::BatchesPlan planned(MetricId metric, ElementType type, std::int64_t d, std::int64_t k, std::int64_t most,
                             std::int64_t memory = 0, const char* device = "auto", double more_queries = 1) {
    planner::Machine machine;
    machine.threads = 4;
    machine.devices = {{"H200", 90, std::int64_t{1} << 36, 132}};
    planner::Request r;
    r.metric.id = metric;
    r.memory = memory;
    r.device = device;
    planner::BatchesShape s;
    s.shape = {32 * most, 32 * most, d, k, type, false};
    s.query_type = type;
    s.most_points = most;
    s.batches = 32;
    s.pairs = 32.0 * static_cast<double>(most) * static_cast<double>(most) * more_queries;
    s.blocks = 32 * most / 128;
    return planner::batches(r, s, machine);
}

TEST(Batches, WhatOneLaunchServes) {
    using planner::BatchesRun;
    const auto run = [](auto... arguments) { return planned(arguments...).run; };
    EXPECT_EQ(BatchesRun::together, run(MetricId::sqeuclidean, ElementType::f32, 3, 16, 4096));
    EXPECT_EQ(BatchesRun::together, run(MetricId::cityblock, ElementType::u8, 32, 128, 1 << 15));
    EXPECT_EQ(BatchesRun::separately, run(MetricId::cosine, ElementType::f32, 3, 16, 4096));
    EXPECT_EQ(BatchesRun::separately, run(MetricId::euclidean, ElementType::f64, 3, 16, 4096));
    EXPECT_EQ(BatchesRun::separately, run(MetricId::euclidean, ElementType::f32, 33, 16, 4096));
    EXPECT_EQ(BatchesRun::separately, run(MetricId::euclidean, ElementType::f32, 3, 129, 4096));
    EXPECT_EQ(BatchesRun::separately, run(MetricId::euclidean, ElementType::f32, 3, 16, (1 << 15) + 1));
    EXPECT_EQ(BatchesRun::together, run(MetricId::euclidean, ElementType::f32, 3, 16, 512, 0, "auto", 60));
    EXPECT_EQ(BatchesRun::separately, run(MetricId::euclidean, ElementType::f32, 3, 16, 1 << 15, 0, "auto", 3));
    // Points, queries and results from the host: 32 x 4,096 rows of 12 + 12 + 16 x 12 bytes.
    const auto plan = planned(MetricId::euclidean, ElementType::f32, 3, 16, 4096, 1 << 25);
    EXPECT_EQ(BatchesRun::together, plan.run);
    EXPECT_EQ(32 * 4096 * (12 + 12 + 192) + 32 * 40, plan.workspace_bytes);
    EXPECT_EQ(BatchesRun::separately, run(MetricId::euclidean, ElementType::f32, 3, 16, 4096, 1 << 24));
    EXPECT_EQ(BatchesRun::tasks, run(MetricId::euclidean, ElementType::f32, 3, 16, 4096, 0, "cpu"));
    metric::Traits monotone{.monotone = true};
    EXPECT_STREQ("tree", planner::batch_path(monotone, {0, 1024, 0, 64}, 8, 128));
    EXPECT_STREQ("", planner::batch_path(monotone, {0, 1024, 0, 64}, 8, 129));
    EXPECT_STREQ("", planner::batch_path(monotone, {0, 1024, 0, 64}, 9, 5));
    EXPECT_STREQ("", planner::batch_path(monotone, {0, 1025, 0, 64}, 3, 5));
    EXPECT_STREQ("", planner::batch_path(monotone, {0, 4096, 0, 4096}, 3, 5));
    EXPECT_STREQ("", planner::batch_path(metric::Traits{}, {0, 1024, 0, 64}, 3, 5));
    EXPECT_TRUE(planner::is_task(1, 4, 4));
    EXPECT_FALSE(planner::is_task(2, 4, 4));
    EXPECT_FALSE(planner::is_task(1, 100, 1));
}

}  // namespace
