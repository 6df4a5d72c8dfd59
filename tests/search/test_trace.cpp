// Plan and trace on the CPU: what runs has been planned, the first attempt is the first entry, every query is answered
// by one attempt, and a strategy that answers nothing changes no answer.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cpu/search/strategies.h"
#include "plan/planner.h"
#include "trace_cases.h"

namespace {

using namespace kith;

const trace_cases::Device cpu_device{
    "cpu", {"", "tree", "projected", "gemm-i8", "gemm-bf16", "gemm-f32", "direct-f32", "exact"}, true};

class PlanOfAdversarialData : public testing::TestWithParam<std::string> {};

TEST_P(PlanOfAdversarialData, SaysWhatRuns) {
    trace_cases::adversarial_data(cpu_device, GetParam(), {5, 90});
}

TEST_P(PlanOfAdversarialData, NoopAheadChangesNoAnswer) {
    trace_cases::noop_ahead(cpu_device, GetParam());
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
        for (const cpu::Listed& listed : cpu::all_strategies) {
            const cpu::Strategy* const each = listed.strategy;
            if (!planner::is_only_first(each->facts.name, false)) continue;
            options.path = each->facts.name;
            const Neighbors got = search(of_points, of_queries, 10, options);
            EXPECT_TRUE(same_answer(want, got)) << GetParam() << ", " << options.path;
            if (each != cpu::listed("noop")) trace_cases::expect_consistent(got.report, true, options.path);
            EXPECT_TRUE(each != cpu::listed("noop") || got.report.trace.at(0).left == 40);
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
    trace_cases::ordinary_data(cpu_device, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Data, PlanOfOrdinaryData, testing::ValuesIn(ordinary_cases::names()),
                         [](const auto& info) { return ordinary_cases::test_name(info.param); });

TEST(TraceOfRadius, CountsEachQueryOnce) {
    trace_cases::radii({"cpu", {"", "tree", "gemm-f32", "direct-f32", "exact"}, true});
}

TEST(TraceOfSearch, SaysThatAForcedSelectorScans) {
    const auto set = adversarial::make("gaussian", 500, 20, 8, 8);
    Options options;
    options.device = "cpu";
    options.selector = "heap";
    const Report report = search(view(set.points.data(), 500, 8), view(set.queries.data(), 20, 8), 10, options).report;
    trace_cases::expect_planned(plan({500, 20, 8, 10, ElementType::f64}, options), report, cpu_device, true, "heap");
    EXPECT_EQ("exact", report.path);
    EXPECT_NE(std::string::npos, explain(report).find("20 queries, 20 certified"));
}

}  // namespace
