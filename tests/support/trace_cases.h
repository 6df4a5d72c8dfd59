// Plan and trace, for any device: what runs has been planned, the first attempt is the first entry, and every query is
// answered by one attempt. test_trace.cpp asks the CPU, test_gpu_trace.cpp CUDA.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "adversarial.h"
#include "consistent_trace.h"
#include "kith/kith.h"
#include "kith/radius.h"
#include "ordinary_cases.h"
#include "same_answer.h"
#include "search/ordinary_data.h"

namespace trace_cases {

// Where searches run, and by which paths.
struct Device {
    std::string name;
    std::vector<const char*> paths;
    bool names_winner = false;  // Report::path is that of the strategy which certified most

    kith::Options options(const std::string& path = "") const {
        kith::Options out;
        out.device = name;
        out.path = path;
        return out;
    }
};

inline bool is_planned(const kith::Plan& plan, std::string_view strategy) {
    return std::ranges::find(plan.attempts, strategy, &kith::Attempt::strategy) != plan.attempts.end();
}

// `first`: the plan is that of the call. For an Index, whose plans know what samples said, only what ran is planned.
inline void expect_planned(const kith::Plan& plan, const kith::Report& report, const Device& device, bool first,
                           const std::string& label) {
    const std::string what = label + "\n" + explain(plan) + explain(report);
    expect_consistent(report, device.names_winner, what);
    for (const kith::TraceEntry& e : report.trace)
        EXPECT_TRUE(e.queries == 0 || is_planned(plan, e.strategy)) << what << e.strategy;
    ASSERT_FALSE(plan.attempts.empty()) << what;
    if (first && !report.trace.empty()) {
        EXPECT_EQ(plan.attempts[0].strategy, report.trace[0].strategy) << what;
    }
    EXPECT_EQ("exact", plan.attempts.back().strategy) << what;
    EXPECT_NE(std::string::npos, explain(plan).find(plan.attempts[0].strategy)) << what;
}

// One call and an Index, by each path that serves them.
inline void expect_planned_searches(const Device& device, const kith::MatrixView& points,
                                    const kith::MatrixView& queries, const kith::Metric& metric,
                                    const std::string& what) {
    for (const char* const path : device.paths) {
        kith::Options options = device.options(path);
        options.metric = metric;
        const std::string label = what + ", path '" + path + "'";
        kith::Shape shape{points.rows, queries.rows, points.cols, 10, points.type};
        try {
            const kith::Plan planned = kith::plan(shape, options);
            expect_planned(planned, kith::search(points, queries, 10, options).report, device, true, label);
            shape.prepared = true;
            const kith::Plan prepared = kith::plan(shape, options);
            const kith::Index index(points, options);
            for (int turn = 0; turn < 2; ++turn)
                expect_planned(prepared, index.search(queries, 10, options).report, device, false, label + ", index");
        } catch (const kith::Error& error) {
            EXPECT_EQ(kith::ErrorCode::invalid_argument, error.code()) << label << error.what();
            EXPECT_STRNE("", path) << label << error.what();
        }
    }
}

inline void adversarial_data(const Device& device, const std::string& data, const std::vector<std::int64_t>& queries) {
    for (const std::int64_t d : {3, 40, 70})
        for (const std::int64_t q : queries) {
            const auto set = adversarial::make(data, 5000, q, d, 5);
            const std::vector<float> points(set.points.begin(), set.points.end()),
                of_queries(set.queries.begin(), set.queries.end());
            for (const char* const metric : {"sqeuclidean", "cosine", "cityblock"})
                expect_planned_searches(device, kith::view(points.data(), set.n, d),
                                        kith::view(of_queries.data(), q, d), kith::metric_named(metric),
                                        data + ", " + metric + ", d " + std::to_string(d) + ", q " + std::to_string(q));
        }
}

// A strategy that is put ahead, and leaves all.
inline void noop_ahead(const Device& device, const std::string& data) {
    for (const std::int64_t d : {3, 70}) {
        const auto set = adversarial::make(data, 5000, 40, d, 6);
        const std::vector<float> points(set.points.begin(), set.points.end()),
            queries(set.queries.begin(), set.queries.end());
        const kith::MatrixView of_points = kith::view(points.data(), set.n, d),
                               of_queries = kith::view(queries.data(), 40, d);
        const kith::Options plain = device.options(), ahead = device.options("noop");
        const kith::Neighbors got = kith::search(of_points, of_queries, 10, ahead);
        EXPECT_TRUE(same_answer(kith::search(of_points, of_queries, 10, plain), got)) << data;
        EXPECT_EQ("noop", kith::plan({set.n, 40, d, 10}, ahead).attempts.at(0).strategy);
        EXPECT_EQ("noop", got.report.trace.at(0).strategy);
        EXPECT_EQ(40, got.report.trace.at(0).left);
        expect_consistent(got.report, false, data);
        const kith::Neighbors edges = kith::graph(of_points, 5, ahead);
        EXPECT_TRUE(same_answer(kith::graph(of_points, 5, plain), edges)) << data;
        EXPECT_EQ("noop", edges.report.trace.at(0).strategy);
        const kith::RadiusNeighbors want = kith::radius(of_points, of_queries, kith::Radius(2.0), plain),
                                    balls = kith::radius(of_points, of_queries, kith::Radius(2.0), ahead);
        EXPECT_EQ(want.offsets, balls.offsets) << data;
        EXPECT_EQ(want.ids, balls.ids) << data;
        EXPECT_EQ("noop", balls.report.trace.at(0).strategy) << data;
    }
}

inline void ordinary_data(const Device& device, const std::string& name) {
    const auto& set = *std::ranges::find(kith::bench::ordinary_sets(), name, &kith::bench::OrdinarySet::name);
    const arrays::Array points = ordinary_cases::rows_of(set, false, 4000, 4000),
                        queries = ordinary_cases::rows_of(set, true, 300, 4000);
    kith::Metric metric(set.metric);
    metric.packed_bits = set.packed_bits;
    if (!set.graph) return expect_planned_searches(device, points.view, queries.view, metric, name);
    kith::Options options = device.options();
    options.metric = metric;
    expect_planned(kith::plan({4000, 4000, set.d, 10, set.type, true}, options),
                   kith::graph(points.view, 10, options).report, device, true, name);
}

// Calls search(options) with the least power of two of memory from 1 MiB on that serves it.
template <class Search>
kith::Report with_least_memory(kith::Options options, Search search) {
    for (options.memory = 1 << 20; true; options.memory *= 2) {
        try {
            return search(options);
        } catch (const kith::Error& error) {
            if (error.code() != kith::ErrorCode::out_of_memory || options.memory > 1 << 28) throw;
        }
    }
}

// Parts of a search by radius are summed up: each query is counted once by the attempt that answered it.
inline void radii(const Device& device) {
    for (const char* const data : {"gaussian", "duplicates", "shell", "infinities", "lattice"})
        for (const std::int64_t d : {3, 40}) {
            const auto set = adversarial::make(data, 2000, 100, d, 8);
            const std::vector<float> points(set.points.begin(), set.points.end()),
                queries(set.queries.begin(), set.queries.end());
            const kith::MatrixView of_points = kith::view(points.data(), set.n, d),
                                   of_queries = kith::view(queries.data(), 100, d);
            for (const char* const path : device.paths)
                for (const double r : {0.1, 2.0}) {
                    const std::string what = std::string(data) + ", path " + path + ", r " + std::to_string(r);
                    const auto listed = [&](const kith::Options& options) {
                        return kith::radius(of_points, of_queries, kith::Radius(r), options).report;
                    };
                    const kith::Options options = device.options(path);
                    expect_consistent(with_least_memory(options, listed), device.names_winner, what);
                    expect_consistent(kith::radius_counts(of_points, of_queries, kith::Radius(r), options).report,
                                      device.names_winner, what);
                }
        }
}

}  // namespace trace_cases
