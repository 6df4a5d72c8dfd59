// What a GPU's searches may try and have tried, without a GPU: the plans' attempts for measured machines, and the log
// of which a trace is made.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "gpu/search/attempts.h"
#include "gpu/search/strategies.h"
#include "kith/error.h"
#include "kith/kith.h"
#include "plan/attempts.h"
#include "plan_cases.h"

namespace {

using namespace kith;
using gpu::AttemptLog;
using gpu::Step;

// ---- plans

std::size_t place_of(const Plan& plan, std::string_view strategy) {
    const auto found = std::ranges::find(plan.attempts, strategy, &Attempt::strategy);
    return static_cast<std::size_t>(found - plan.attempts.begin());
}

bool lists(const Plan& plan, std::string_view strategy) {
    return place_of(plan, strategy) < plan.attempts.size();
}

// Every plan ends with the scan, names no step twice, and its first step is unconditional or says its condition.
void expect_sound(const Plan& plan, const std::string& what) {
    ASSERT_FALSE(plan.attempts.empty()) << what;
    EXPECT_EQ("exact", plan.attempts.back().strategy) << what;
    for (std::size_t i = 0; i < plan.attempts.size(); ++i) {
        const Attempt& each = plan.attempts[i];
        EXPECT_TRUE(gpu::find_strategy(each.strategy)) << what << ", " << each.strategy;
        EXPECT_EQ(1, std::ranges::count(plan.attempts, each)) << what << ", " << each.strategy;
        EXPECT_TRUE(i == 0 || !each.when.empty() || plan.attempts[i - 1].strategy == "noop") << what;
    }
    const std::string text = explain(plan);
    EXPECT_NE(std::string::npos, text.find("attempts      1  " + std::string(plan.attempts[0].strategy))) << text;
    // The filter of the path, whatever comes ahead of it.
    const bool forced = plan.forced && plan.distances.empty();
    if (forced) {
        EXPECT_TRUE(lists(plan, name(plan.path))) << what;
    }
}

std::vector<Shape> shapes() {
    std::vector<Shape> out;
    for (const std::int64_t n : {1000, 100000, 1 << 20})
        for (const std::int64_t q : {1, 5, 8192, 100000})
            for (const std::int64_t d : {3, 16, 128, 768})
                for (const std::int64_t k : {1, 10, 300})
                    for (const bool prepared : {false, true})
                        out.push_back({.n = n, .q = q, .d = d, .k = k, .prepared = prepared});
    return out;
}

TEST(AttemptsOfAGpu, AreListedForEveryShape) {
    for (const char* const machine : {"h100", "h200"})
        for (const char* const metric : {"sqeuclidean", "cosine", "cityblock", "hamming"})
            for (const Shape& s : shapes()) {
                Options options;
                options.metric = metric_named(metric);
                expect_sound(plan_on(machine, s, options),
                             std::string(machine) + " " + metric + " n " + std::to_string(s.n) + " q " +
                                 std::to_string(s.q) + " d " + std::to_string(s.d) + " k " + std::to_string(s.k));
            }
}

TEST(AttemptsOfAGpu, FollowTheForcedPath) {
    for (const char* const path : {"tree", "projected", "gemm-i8", "clustered", "gemm-f16", "direct-f32", "exact"}) {
        Options options;
        options.path = path;
        const Plan plan = plan_on("h200", {1 << 20, 4096, 64, 10}, options);
        expect_sound(plan, path);
        const bool cluster_first = std::string(path) == "clustered";
        EXPECT_EQ(cluster_first ? "nearest-partition" : path, plan.attempts[0].strategy);
        EXPECT_EQ(cluster_first, !plan.attempts[0].when.empty()) << path;
    }
}

TEST(AttemptsOfAGpu, NameInt8ForAnIndexOfAMillionPoints) {
    Shape shape{1 << 20, 8192, 128, 10};
    shape.prepared = true;
    const Plan many = plan_on("h100", shape);
    EXPECT_TRUE(lists(many, "gemm-i8"));
    EXPECT_FALSE(many.attempts[place_of(many, "gemm-i8")].when.empty());
    EXPECT_LT(place_of(many, "clustered"), place_of(many, "gemm-i8"));
    EXPECT_LT(place_of(many, "gemm-i8"), place_of(many, "gemm-f16"));
    EXPECT_TRUE(lists(many, "nearest-partition"));
    EXPECT_FALSE(lists(many, "dense"));
    shape.q = 1;
    const Plan one = plan_on("h100", shape);
    EXPECT_TRUE(lists(one, "gemm-i8") && lists(one, "dense"));
    EXPECT_FALSE(lists(one, "nearest-partition"));
    shape.q = 8192;
    shape.d = 768;
    const Plan wide = plan_on("h100", shape);
    EXPECT_LT(place_of(wide, "projected"), place_of(wide, "gemm-i8"));
    EXPECT_LT(place_of(wide, "gemm-i8"), place_of(wide, "gemm-f16"));
}

TEST(AttemptsOfAGpu, SayHowGraphsAndFewQueriesAreFiltered) {
    const Plan graph = plan_on("h200", {1 << 20, 1 << 20, 128, 10, ElementType::f32, true});
    ASSERT_TRUE(graph.symmetric);
    EXPECT_EQ("symmetric", graph.attempts[0].strategy);
    Options products;  // of points that are not prepared a scan takes less
    products.path = "gemm-f16";
    const Plan few = plan_on("h200", {1 << 20, 2, 128, 10}, products);
    ASSERT_GT(few.matrix_queries, 0);
    EXPECT_EQ("dense", few.attempts[0].strategy);
    const Plan tree = plan_on("h200", {1 << 20, 1 << 20, 3, 10, ElementType::f32, true});
    ASSERT_EQ(Path::tree, tree.path);
    EXPECT_EQ("tree", tree.attempts[0].strategy);
    EXPECT_FALSE(tree.attempts[0].when.empty());
    EXPECT_TRUE(lists(tree, "direct-f32"));
}

// By a GPU's rates, also where the filter has no matrix instructions.
TEST(AttemptsOfAGpu, AreEstimatedByItsRates) {
    Options options;
    options.metric = MetricId::cityblock;
    const Plan plan = plan_on("h200", {1 << 20, 8192, 128, 10}, options);
    ASSERT_EQ("", plan.isa);
    ASSERT_EQ("direct-f32", plan.attempts.at(0).strategy);
    EXPECT_GT(plan.attempts[0].seconds, 0.001);
    EXPECT_LT(plan.attempts[0].seconds, 1);  // a minute by those of a CPU
    for (const Attempt& each : plan.attempts) {
        EXPECT_GT(each.query_tile, 0) << each.strategy;
        EXPECT_GT(each.point_tile, 0) << each.strategy;
    }
}

TEST(AttemptsOfAGpu, BeginWithNoop) {
    Options options;
    const Shape shape{1 << 20, 8192, 128, 10};
    Plan want = plan_on("h200", shape);
    options.path = "noop";
    const Plan got = plan_on("h200", shape, options);
    EXPECT_EQ("noop", got.first);
    EXPECT_FALSE(got.forced);
    EXPECT_EQ("noop", got.attempts.at(0).strategy);
    EXPECT_EQ("", got.attempts.at(0).when);
    want.attempts.insert(want.attempts.begin(), got.attempts.front());
    want.first = got.first;
    want.why = got.why;
    EXPECT_EQ(want, got);
    for (const gpu::Step step : {Step::own, Step::exact}) {
        options.path = gpu::strategy_of(step, want).name;
        EXPECT_EQ("", plan_on("h200", shape, options).first) << options.path;
    }
    for (const char* const other : {"symmetric", "dense", "gemm-f16x2", "nearest-partition", "host-int8", "papers"}) {
        options.path = other;
        EXPECT_THROW(plan_on("h200", shape, options), Error) << other;
    }
}

TEST(AttemptsOfAGpu, OfARadiusHaveNoNeighboursToWaitFor) {
    planner::Request r = plan_cases::of("", {1 << 20, 8192, 16, 1});
    r.all_points = true;
    const Plan plan = planner::make(r, plan_cases::with_gpu());
    expect_sound(plan, "radius");
    for (const char* const strategy : {"dense", "symmetric", "projected", "gemm-i8", "clustered"})
        EXPECT_FALSE(lists(plan, strategy)) << strategy;
    EXPECT_EQ("gemm-f16", plan.attempts.at(0).strategy);
    r.metric.traits.monotone = true;
    EXPECT_EQ("tree", planner::make(r, plan_cases::with_gpu()).attempts.at(0).strategy);
}

// ---- the log

constexpr std::int64_t queries = 10;

Plan filtered() {
    Plan plan;
    plan.device = 0;
    plan.path = Path::gemm_f16;
    return plan;
}

void expect_entry(const TraceEntry& e, const std::string& strategy, std::int64_t taken, std::int64_t left,
                  const std::string& cause) {
    EXPECT_EQ(strategy, e.strategy);
    EXPECT_EQ(taken, e.queries) << strategy;
    EXPECT_EQ(taken - left, e.certified) << strategy;
    EXPECT_EQ(left, e.left) << strategy;
    EXPECT_EQ(cause, e.cause) << strategy;
    EXPECT_GE(e.seconds, 0) << strategy;
}

TEST(AttemptLog, CountsAQueryByTheLastStepThatTookIt) {
    AttemptLog log(queries);
    log.took(Step::own, 0, queries);
    log.left(Step::own, exact::Cause::full_list, 2);
    log.left(Step::own, exact::Cause::out_of_range);
    log.lap(Step::own);
    for (const std::int64_t query : {2, 5}) log.took(Step::again, query);
    log.left(Step::again, exact::Cause::alike);
    for (const std::int64_t query : {5, 7}) {
        log.took(Step::exact, query);
        log.mark(query, AttemptLog::scanned, exact::Cause::alike);
    }
    log.mark(2, AttemptLog::retried, exact::Cause::full_list);
    log.mark(5, AttemptLog::retried, exact::Cause::full_list);  // does not take back what it needed
    Report report;
    log.count_outcomes(queries, report);
    EXPECT_EQ(7, report.certified);
    EXPECT_EQ(1, report.retried);
    EXPECT_EQ(2, report.scanned);
    ASSERT_EQ(2u, report.fallbacks.size());
    EXPECT_EQ(2, report.fallbacks[0].queries);
    EXPECT_TRUE(report.fallbacks[0].scanned);
    log.write(filtered(), report);
    ASSERT_EQ(3u, report.trace.size());
    expect_entry(report.trace[0], "gemm-f16", 10, 3, "full list");
    expect_entry(report.trace[1], "gemm-f16", 2, 1, "alike");
    expect_entry(report.trace[2], "exact", 2, 0, "");
}

// In parts of the points a query counts once for each step.
TEST(AttemptLog, CountsPartsOnce) {
    AttemptLog log(queries);
    for (int part = 0; part < 3; ++part) {
        log.took(Step::own, 0, queries);
        log.took(Step::exact, part);
        log.took(Step::exact, 9);
    }
    Report report;
    log.write(filtered(), report);
    ASSERT_EQ(2u, report.trace.size());
    expect_entry(report.trace[0], "gemm-f16", 10, 4, "alike");
    expect_entry(report.trace[1], "exact", 4, 0, "");
}

TEST(AttemptLog, SaysWhyNothingWasTaken) {
    AttemptLog log(queries);
    Plan plan = filtered();
    plan.path = Path::clustered;
    plan.first = "noop";
    log.declined(Step::gemm_i8, "first");
    log.declined(Step::gemm_i8, "second");
    log.declined(Step::clustered, "not at first");
    log.took(Step::nearest_partition, 0, queries);
    log.took(Step::clustered, 3);
    Report report;
    log.write(plan, report);
    ASSERT_EQ(4u, report.trace.size());
    expect_entry(report.trace[0], "noop", 10, 10, "");
    expect_entry(report.trace[1], "nearest-partition", 10, 1, "other clusters");
    expect_entry(report.trace[2], "clustered", 1, 0, "");
    expect_entry(report.trace[3], "gemm-i8", 0, 0, "first");
    EXPECT_TRUE(log.ran(Step::clustered));
    EXPECT_FALSE(log.ran(Step::gemm_i8));
}

TEST(AttemptLog, ForgetsQueriesThatAreSearchedAnew) {
    AttemptLog log(queries);
    log.took(Step::tree, 0, 4);
    log.took(Step::own, 4, 6);
    log.took(Step::exact, 9);
    log.mark(9, AttemptLog::scanned, exact::Cause::alike);
    log.forget(4, 6);
    log.took(Step::own, 4, 3);
    log.took(Step::own, 7, 3);
    Report report;
    log.count_outcomes(queries, report);
    EXPECT_EQ(queries, report.certified);
    EXPECT_TRUE(report.fallbacks.empty());
    log.write(filtered(), report);
    ASSERT_EQ(2u, report.trace.size());
    expect_entry(report.trace[0], "tree", 4, 0, "");
    expect_entry(report.trace[1], "gemm-f16", 6, 0, "");
}

// The queries that int8 leaves are searched as a request of their own.
TEST(AttemptLog, CountsFromTheFirstQueryOfAPart) {
    AttemptLog log(queries);
    log.took(Step::host_int8, 0, queries);
    log.left(Step::host_int8, exact::Cause::full_list, 3);
    log.took(Step::own, 6);
    log.count_from(6);
    log.took(Step::own, 0, 3);
    log.took(Step::exact, 1);
    log.mark(1, AttemptLog::scanned, exact::Cause::alike);
    Report report;
    log.count_outcomes(3, report);
    EXPECT_EQ(2, report.certified);
    EXPECT_EQ(1, report.scanned);
    log.count_from(0);
    log.write(filtered(), report);
    ASSERT_EQ(3u, report.trace.size());
    expect_entry(report.trace[0], "host-int8", 10, 3, "full list");
    expect_entry(report.trace[1], "gemm-f16", 3, 1, "alike");
    expect_entry(report.trace[2], "exact", 1, 0, "");
    // A call that is shared adds its entries to those before.
    log.write(filtered(), report);
    ASSERT_EQ(3u, report.trace.size());
    expect_entry(report.trace[1], "gemm-f16", 6, 2, "alike");
}

TEST(AttemptLog, OfNoQueriesSaysNothing) {
    AttemptLog log(0);
    log.declined(Step::tree, "none");
    Report report;
    log.count_outcomes(0, report);
    log.write(filtered(), report);
    EXPECT_TRUE(report.trace.empty());
    EXPECT_EQ(0, report.certified);
}

}  // namespace
