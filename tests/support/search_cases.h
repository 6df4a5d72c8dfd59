// Bodies of the search tests, for any device: every metric, element type, data set and way of computing, against the
// oracle. test_search.cpp runs them on the CPU, test_gpu_search.cpp on CUDA.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "admissible.h"
#include "adversarial.h"
#include "arrays.h"
#include "kith/kith.h"
#include "metric_variants.h"
#include "truth.h"

namespace search_cases {

using kith::ElementType;

struct Size {
    std::int64_t n, q, d, k;
};

// Each dimension and count where loops, vectors and tiles begin and end.
inline const Size sizes[] = {
    {1, 1, 1, 1},       {1, 3, 2, 2},     {2, 2, 3, 1},      {3, 5, 7, 5},       {17, 4, 16, 17},    {17, 3, 31, 20},
    {100, 7, 32, 10},   {100, 6, 33, 40}, {100, 5, 64, 1},   {1000, 4, 100, 10}, {1000, 3, 257, 32}, {100, 3, 2000, 7},
    {1000, 5, 2, 1000}, {17, 2, 2000, 3}, {100, 20, 3, 150}, {1000, 2, 1, 5},    {2, 40, 64, 3},
};

// A search's inputs in memory, and its truth.
struct Case {
    std::string label;
    Variant variant;
    arrays::Array points, queries;
    std::int64_t k;

    Truth truth() const { return Truth(variant.name, variant.params, points.view, queries.view, k); }
};

inline Case make_case(const Variant& variant, const std::string& data, Size size, ElementType type,
                      ElementType query_type, arrays::Shape shape, std::uint64_t seed) {
    const oracle::Definition& metric = oracle::definition(variant.name);
    if (metric.dimensions) size.d = metric.dimensions;
    auto set = adversarial::make(data, size.n, size.q, size.d, seed, metric.non_negative);
    for (auto* values : {&set.points, &set.queries}) admissible::make(*values, metric, type, query_type);
    Case out;
    out.label = variant.label + " of " + data + " " + kith::name(type) + ": n " + std::to_string(size.n) + ", q " +
                std::to_string(size.q) + " (" + kith::name(query_type) + "), d " + std::to_string(size.d) + ", k " +
                std::to_string(size.k) + ", layout " + std::to_string(int(shape)) + ", seed " + std::to_string(seed);
    out.variant = variant;
    out.points = arrays::make(set.points, size.n, size.d, type, shape);
    out.queries = arrays::make(set.queries, size.q, size.d, query_type, shape);
    out.k = size.k;
    return out;
}

// How a search runs: nothing of it may change a bit of the answer.
struct Execution {
    std::string path, isa;
    int threads = 0;
    bool small_memory = false;

    std::string label() const {
        return "path '" + path + "', isa '" + isa + "', threads " + std::to_string(threads) +
               (small_memory ? ", small memory" : "");
    }
};

inline kith::Options options_of(const std::string& device, const Variant& variant, const Execution& execution,
                                bool f64) {
    kith::Options options;
    options.device = device;
    options.metric = variant.metric;
    options.path = execution.path;
    options.isa = execution.isa;
    options.threads = execution.threads;
    options.f64 = f64;
    return options;
}

// Calls search(options) with the smallest power of two of memory that it accepts, and that serves(options).
template <class Search, class Serves>
kith::Neighbors with_small_memory(kith::Options options, Search search, Serves serves) {
    for (options.memory = 16 << 10;; options.memory *= 2) {
        try {
            if (serves(options)) return search(options);
        } catch (const kith::Error& error) {
            if (error.code() != kith::ErrorCode::out_of_memory || options.memory >= 64 << 20) throw;
        }
    }
}

template <class Search>
kith::Neighbors with_small_memory(const kith::Options& options, Search search) {
    return with_small_memory(options, search, [](const kith::Options&) { return true; });
}

// True if a search is cut into few enough tiles for a test: on a GPU each is some launches, and each of these waits
// for its turn where processes share the device. Few enough leaves tiles of one query and of one point.
inline bool few_tiles(const Case& c, const kith::Options& options) {
    if (options.device != "cuda") return true;
    constexpr std::int64_t most = 400;
    const kith::MatrixView &points = c.points.view, &queries = c.queries.view;
    const kith::Plan plan = kith::plan({points.rows, queries.rows, points.cols, c.k, points.type, false}, options);
    const auto parts = [](std::int64_t whole, std::int64_t part) { return (whole + part - 1) / part; };
    return parts(queries.rows, plan.query_tile) * parts(points.rows, plan.chunk_points) *
               parts(plan.chunk_points, plan.point_tile) <=
           most;
}

// The answer, or nothing where the metric, type or machine refuses a forced path or instruction set, naming it.
inline std::optional<kith::Neighbors> answer(const std::string& device, const Case& c, const Execution& execution,
                                             bool f64) {
    const kith::Options options = options_of(device, c.variant, execution, f64);
    const auto search = [&](const kith::Options& o) { return kith::search(c.points.view, c.queries.view, c.k, o); };
    try {
        return execution.small_memory
                   ? with_small_memory(options, search, [&](const kith::Options& o) { return few_tiles(c, o); })
                   : search(options);
    } catch (const kith::Error& error) {
        const std::string message = error.what();
        const auto names = [&](const std::string& forced) {
            return !forced.empty() && message.find("'" + forced + "'") != std::string::npos;
        };
        if (error.code() != kith::ErrorCode::invalid_argument || !(names(execution.path) || names(execution.isa)))
            throw;
        return std::nullopt;
    }
}

// Every data set in every element type, sizes, layouts, query types and executions taking turns.
inline void every_data_set(const std::string& device, const std::string& metric) {
    const Execution executions[] = {{"", "", 0, false}, {"", "", 1, true}, {"exact", "", 2, false}};
    // A search on a GPU that other processes use takes some 40 ms, on a CPU 5.
    const int repeats = device == "cpu" ? 3 : 2;
    std::uint64_t turn = 0;
    for (const std::string& data : adversarial::names()) {
        if (repeats == 2) ++turn;  // else a type would meet the same executions every time
        for (ElementType type : arrays::element_types) {
            for (int repeat = 0; repeat < repeats; ++repeat) {
                Size size = sizes[turn % std::size(sizes)];
                if (metric == "mahalanobis") size.d = std::min<std::int64_t>(size.d, 33);
                const ElementType query_type = turn % 5 == 4 ? arrays::element_types[turn / 5 % 6] : type;
                const auto all = variants(metric, size.d, type);
                const Variant& variant = all[turn / 2 % all.size()];
                // Packed bits are bytes on both sides.
                const ElementType other = variant.metric.packed_bits ? type : query_type;
                const Case c = make_case(variant, data, size, type, other, arrays::shapes[turn % 3], turn);
                const bool f64 = turn % 4 == 3;
                const Execution& execution = executions[turn % std::size(executions)];
                const auto got = answer(device, c, execution, f64);
                ASSERT_TRUE(got) << c.label << ", " << execution.label();
                ASSERT_EQ("", c.truth().difference(*got)) << c.label << ", " << execution.label();
                ++turn;
            }
        }
    }
}

// Every path x instruction set x thread count x memory budget on data that tell them apart.
inline void every_way(const std::string& device, const std::string& metric) {
    const bool cpu = device == "cpu";
    const std::vector<std::string> isas =
        cpu ? std::vector<std::string>{"amx", "avx512", "avx2", "baseline"} : std::vector<std::string>{"", "sm_80"};
    const std::vector<int> threads = cpu ? std::vector<int>{1, 2} : std::vector<int>{0};
    std::uint64_t seed = 100;
    for (const char* data : {"gaussian", "integers", "offset", "infinities", "norms", "clusters", "probabilities"}) {
        for (ElementType type : {ElementType::f32, ElementType::u8, ElementType::f64}) {
            for (const Variant& variant : variants(metric, 37, type)) {
                const Case c = make_case(variant, data, {300, 11, 37, 12}, type, type, arrays::Shape::dense, ++seed);
                const Truth truth = c.truth();
                for (const char* path :
                     {"", "exact", "gemm-bf16", "gemm-f32", "gemm-f16", "direct-f32", "tree", "projected"}) {
                    for (const std::string& isa : isas) {
                        if (!cpu && !isa.empty() && std::string_view(path) == "exact") continue;  // one kernel for all
                        for (int count : threads) {
                            const Execution execution{path, isa, count, seed % 2 == 0};
                            const auto got = answer(device, c, execution, seed % 3 == 0);
                            if (!got) continue;
                            ASSERT_EQ("", truth.difference(*got)) << c.label << ", " << execution.label();
                        }
                    }
                }
            }
        }
    }
}

// Enough points for many tiles, for one query (the threads share the points) and for a few.
inline void many_points(const std::string& device, const std::string& metric) {
    const Variant variant = variants(metric, 16, ElementType::f32).front();
    for (const char* data : {"clusters", "uniform"}) {
        const Case c =
            make_case(variant, data, {100000, 2, 16, 10}, ElementType::f32, ElementType::f32, arrays::Shape::dense, 77);
        const Truth truth = c.truth();
        for (const Execution& execution : {Execution{"", "", 0, false}, Execution{"exact", "", 2, true}}) {
            const auto got = answer(device, c, execution, false);
            ASSERT_TRUE(got) << c.label;
            ASSERT_EQ("", truth.difference(*got)) << c.label << ", " << execution.label();
        }
    }
}

// Adversarial data in those dimensions, sizes and executions of a path, one after another, every query accounted for.
inline void in_dimensions(const std::string& metric, const std::vector<std::int64_t>& dimensions, Size few, Size many,
                          const std::vector<Execution>& executions, const std::string& device = "cpu") {
    std::uint64_t turn = metric.size();
    for (const std::string& data : adversarial::names()) {
        for (const std::int64_t d : dimensions) {
            Size size = turn % 3 ? few : many;
            size.d = d;
            size.k = turn % 2 ? 10 : 70;
            const auto type = arrays::element_types[turn % 6];
            const auto query_type = turn % 4 ? type : ElementType::f64;
            const auto all = variants(metric, d, type);
            const Case c =
                make_case(all[turn % all.size()], data, size, type, query_type, arrays::shapes[turn % 3], turn);
            const Execution& execution = executions[turn % executions.size()];
            const auto got = answer(device, c, execution, turn % 5 == 0);
            ++turn;
            if (!got && (execution.isa == "avx512" || execution.isa == "sm_90a")) continue;
            ASSERT_TRUE(got) << c.label << ", " << execution.label();
            ASSERT_EQ("", c.truth().difference(*got)) << c.label << ", " << execution.label();
            EXPECT_EQ(size.q, got->report.certified + got->report.retried + got->report.scanned);
        }
    }
}

// Filters with enough points to tighten their thresholds on, and data that loosen their bounds.
inline void every_filter(const std::string& device, const std::string& metric) {
    std::uint64_t turn = metric.size();
    for (const std::string& data : adversarial::names()) {
        ++turn;
        for (const char* path : {"gemm-bf16", "gemm-f32", "gemm-f16", "direct-f32", "tree", "projected"}) {
            const ElementType type = turn % 3 == 0 ? ElementType::f64 : ElementType::f32;
            Size size{4000, 50, turn % 2 ? 16 : 67, turn / 2 % 2 ? 10 : 150};
            if (metric == "mahalanobis") size.d = std::min<std::int64_t>(size.d, 33);
            const auto all = variants(metric, size.d, type);
            const Variant& variant = all[turn / 4 % all.size()];
            const Case c = make_case(variant, data, size, type, type, arrays::Shape::dense, turn);
            const auto got = answer(device, c, {path, "", 0, turn % 5 == 0}, false);
            if (!got) continue;
            const kith::Report& report = got->report;
            ASSERT_EQ("", c.truth().difference(*got)) << c.label << ", path " << path;
            EXPECT_EQ(size.q, report.certified + report.retried + report.scanned) << c.label << ", path " << path;
        }
    }
}

// More queries than a tile holds, k from one to all.
inline void many_queries(const std::string& device, const std::string& metric) {
    const Variant variant = variants(metric, 5, ElementType::f32).front();
    for (std::int64_t k : {1, 2, 63, 64, 65, 299, 300, 301}) {
        const Case c = make_case(variant, k % 2 ? "lattice" : "gaussian", {300, 700, 5, k}, ElementType::f32,
                                 ElementType::f32, arrays::Shape::dense, 5);
        const auto got = answer(device, c, {}, false);
        ASSERT_TRUE(got) << c.label;
        ASSERT_EQ("", c.truth().difference(*got)) << c.label;
    }
}

}  // namespace search_cases
