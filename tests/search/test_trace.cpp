// Plan and trace on the CPU: what runs has been planned, the first attempt is the first entry, every query is answered
// by one attempt, and a strategy that answers nothing changes no answer.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "adversarial.h"
#include "cpu/search/strategies.h"
#include "cpu_searches.h"
#include "kith/radius.h"
#include "ordinary_cases.h"
#include "plan/planner.h"
#include "same_answer.h"
#include "search/ordinary_data.h"

namespace {

using namespace kith;

// The entries are consistent, and what they say is what the report says.
void expect_consistent(const Report& report, const std::string& what) {
    ASSERT_FALSE(report.trace.empty()) << what;
    std::int64_t certified = 0, most = 0;
    for (const TraceEntry& e : report.trace) {
        EXPECT_EQ(e.queries, e.certified + e.left) << what << ", " << e.strategy;
        EXPECT_EQ(e.queries == 0 || e.left > 0, !e.cause.empty()) << what << ", " << e.strategy << " " << e.cause;
        EXPECT_GE(e.seconds, 0) << what;
        certified += e.certified;
        most = std::max(most, e.certified);
    }
    EXPECT_EQ(report.queries, certified) << what;
    EXPECT_EQ(0, report.trace.back().left) << what;
    const auto winner = std::ranges::find(report.trace, most, &TraceEntry::certified);
    if (winner->strategy != "rows") {
        EXPECT_EQ(winner->strategy, report.path) << what;
    }
}

bool is_planned(const Plan& plan, std::string_view strategy) {
    return std::ranges::find(plan.attempts, strategy, &Attempt::strategy) != plan.attempts.end();
}

void expect_planned(const Plan& plan, const Report& report, bool first, const std::string& what) {
    expect_consistent(report, what);
    for (const TraceEntry& e : report.trace)
        EXPECT_TRUE(e.queries == 0 || is_planned(plan, e.strategy)) << what << ", " << e.strategy;
    ASSERT_FALSE(plan.attempts.empty()) << what;
    if (first && !report.trace.empty()) {
        EXPECT_EQ(plan.attempts[0].strategy, report.trace[0].strategy) << what;
    }
    EXPECT_EQ("exact", plan.attempts.back().strategy) << what;
    EXPECT_NE(std::string::npos, explain(plan).find(plan.attempts[0].strategy)) << what;
}

// One call, an Index, a graph and balls by each path that serves them.
void expect_planned_searches(const MatrixView& points, const MatrixView& queries, const Metric& metric,
                             const std::string& what) {
    for (const char* path : {"", "tree", "projected", "gemm-i8", "gemm-bf16", "gemm-f32", "direct-f32", "exact"}) {
        Options options;
        options.device = "cpu";
        options.metric = metric;
        options.path = path;
        const std::string label = what + ", path '" + path + "'";
        Shape shape{points.rows, queries.rows, points.cols, 10, points.type};
        try {
            const Plan planned = plan(shape, options);
            expect_planned(planned, search(points, queries, 10, options).report, true, label);
            shape.prepared = true;
            const Plan prepared = plan(shape, options);
            const Index index(points, options);
            for (int turn = 0; turn < 2; ++turn)
                expect_planned(prepared, index.search(queries, 10, options).report, false, label + ", index");
        } catch (const Error& error) {
            EXPECT_EQ(ErrorCode::invalid_argument, error.code()) << label;
            EXPECT_STRNE("", path) << label << error.what();
        }
    }
}

class PlanOfAdversarialData : public testing::TestWithParam<std::string> {};

TEST_P(PlanOfAdversarialData, SaysWhatRuns) {
    for (const std::int64_t d : {3, 40, 70})
        for (const std::int64_t q : {5, 90}) {
            const auto set = adversarial::make(GetParam(), 5000, q, d, 5);
            const std::vector<float> points(set.points.begin(), set.points.end()),
                queries(set.queries.begin(), set.queries.end());
            for (const char* metric : {"sqeuclidean", "cosine", "cityblock"})
                expect_planned_searches(
                    view(points.data(), set.n, d), view(queries.data(), q, d), metric_named(metric),
                    GetParam() + ", " + metric + ", d " + std::to_string(d) + ", q " + std::to_string(q));
        }
}

TEST_P(PlanOfAdversarialData, AStrategyThatIsAskedFirstChangesNoAnswer) {
    for (const std::int64_t d : {3, 70}) {
        const auto set = adversarial::make(GetParam(), 5000, 40, d, 6);
        const std::vector<float> points(set.points.begin(), set.points.end()),
            queries(set.queries.begin(), set.queries.end());
        const MatrixView of_points = view(points.data(), set.n, d), of_queries = view(queries.data(), 40, d);
        Options options;
        options.device = "cpu";
        const Neighbors want = search(of_points, of_queries, 10, options);
        for (const cpu::Strategy* const each : cpu::all_strategies) {
            if (!planner::is_only_first(each->facts.name, false)) continue;
            options.path = each->facts.name;
            const Neighbors got = search(of_points, of_queries, 10, options);
            EXPECT_TRUE(same_answer(want, got)) << GetParam() << ", " << options.path;
            if (each != &cpu::strategies::noop) expect_consistent(got.report, options.path);
            EXPECT_TRUE(each != &cpu::strategies::noop || got.report.trace.at(0).left == 40);
            const Plan planned = plan({set.n, 40, d, 10}, options);
            EXPECT_EQ(options.path, planned.attempts.at(0).strategy);
            EXPECT_EQ(options.path, got.report.trace.at(0).strategy);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Data, PlanOfAdversarialData, testing::ValuesIn(adversarial::names()),
                         [](const auto& info) { return info.param; });

class PlanOfOrdinaryData : public testing::TestWithParam<std::string> {};

TEST_P(PlanOfOrdinaryData, SaysWhatRuns) {
    const auto& set = *std::ranges::find(bench::ordinary_sets(), GetParam(), &bench::OrdinarySet::name);
    const arrays::Array points = ordinary_cases::rows_of(set, false, 4000, 4000),
                        queries = ordinary_cases::rows_of(set, true, 300, 4000);
    Metric metric(set.metric);
    metric.packed_bits = set.packed_bits;
    if (!set.graph) {
        expect_planned_searches(points.view, queries.view, metric, GetParam());
        return;
    }
    Options options;
    options.device = "cpu";
    options.metric = metric;
    expect_planned(plan({4000, 4000, set.d, 10, set.type, true}, options), graph(points.view, 10, options).report, true,
                   GetParam());
}

INSTANTIATE_TEST_SUITE_P(Data, PlanOfOrdinaryData, testing::ValuesIn(ordinary_cases::names()),
                         [](const auto& info) { return ordinary_cases::test_name(info.param); });

// Waves of a search by radius are summed up: each query is counted once by the attempt that answered it.
TEST(TraceOfRadius, CountsEachQueryOnce) {
    for (const char* const data : {"gaussian", "duplicates", "shell", "infinities", "lattice"})
        for (const std::int64_t d : {3, 40}) {
            const auto set = adversarial::make(data, 2000, 100, d, 8);
            const std::vector<float> points(set.points.begin(), set.points.end()),
                queries(set.queries.begin(), set.queries.end());
            const MatrixView of_points = view(points.data(), set.n, d), of_queries = view(queries.data(), 100, d);
            for (const char* const path : {"", "tree", "gemm-f32", "direct-f32", "exact"})
                for (const double r : {0.1, 2.0}) {
                    Options options;
                    options.device = "cpu";
                    options.path = path;
                    options.memory = 1 << 20;
                    const std::string what = std::string(data) + ", path " + path + ", r " + std::to_string(r);
                    const RadiusNeighbors found = radius(of_points, of_queries, Radius(r), options);
                    expect_consistent(found.report, what);
                    options.memory = 0;
                    expect_consistent(radius_counts(of_points, of_queries, Radius(r), options).report, what);
                }
        }
}

TEST(TraceOfSearch, SaysThatAForcedSelectorScans) {
    const auto set = adversarial::make("gaussian", 500, 20, 8, 8);
    Options options;
    options.device = "cpu";
    options.selector = "heap";
    const Report report = search(view(set.points.data(), 500, 8), view(set.queries.data(), 20, 8), 10, options).report;
    expect_planned(plan({500, 20, 8, 10, ElementType::f64}, options), report, true, "heap");
    EXPECT_EQ("exact", report.path);
    EXPECT_NE(std::string::npos, explain(report).find("20 queries, 20 certified"));
}

}  // namespace
