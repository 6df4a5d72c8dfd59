// kl_divergence on CUDA: what its filter does with zeros, with lengths and sizes of all kinds, and the bits of the CPU.
#include <gtest/gtest.h>

#include "entropy_attacks.h"
#include "gpu_arrays.h"
#include "same_answer.h"
#include "search_cases.h"

namespace {

using kith::ElementType;

search_cases::Case case_of(const entropy_attacks::Data& data, ElementType type, std::int64_t k, std::string label) {
    return {std::move(label), variants("kl_divergence", data.d, type).front(),
            arrays::make(data.points, data.n, data.d, type), arrays::make(data.queries, data.q, data.d, type), k};
}

// All of what the bound allows for, with fewer and with more neighbours than a query has points at a finite distance.
TEST(GpuEntropies, EveryAttackGivesTheBitsOfTheScan) {
    std::uint64_t seed = 40;
    for (const auto& [what, maker] : entropy_attacks::makers()) {
        for (const std::int64_t d : {1, 3, 45}) {
            for (const ElementType type : {ElementType::f32, ElementType::f64}) {
                const auto data = entropy_attacks::make(what, 900, 40, d, ++seed);
                for (const std::int64_t k : {1, 30}) {
                    const auto c =
                        case_of(data, type, k, what + ", d " + std::to_string(d) + ", k " + std::to_string(k));
                    const auto scan = search_cases::answer("cpu", c, {"exact", "", 0, false}, true);
                    for (const char* isa : {"", "sm_80"}) {
                        const auto got = search_cases::answer("cuda", c, {"gemm-f16", isa, 0, false}, true);
                        ASSERT_TRUE(scan && got) << c.label;
                        ASSERT_TRUE(same_answer(*scan, *got)) << c.label + ", isa '" + isa + "'";
                    }
                }
            }
        }
    }
}

// Histograms, with columns that no row fills and with bins that are empty here and there, are filtered.
TEST(GpuEntropies, HistogramsAreFilteredWithTheirZeros) {
    constexpr std::int64_t n = 20000, q = 200, d = 96, k = 10;
    const std::pair<const char*, std::function<double(entropy_attacks::Data&, std::int64_t, std::int64_t)>> all[] = {
        {"full", [](auto& data, auto, auto) { return entropy_attacks::exponential(data); }},
        {"empty columns", [](auto& data, auto, auto j) { return j % 4 == 3 ? 0 : entropy_attacks::exponential(data); }},
        {"empty bins of points",
         [](auto& data, auto i, auto) {
             return i % 10 != 0 && data.random.below(100) == 0 ? 0 : entropy_attacks::exponential(data);
         }},
        {"counts", [](auto& data, auto, auto) { return 1 + std::floor(9 * entropy_attacks::exponential(data)); }},
    };
    for (const auto& [what, coordinate] : all) {
        entropy_attacks::Data data(n, q, d, 5);
        entropy_attacks::each(data, coordinate,
                              [&](auto& rows, auto i, auto j) { return coordinate(rows, 10 * i, j); });
        const auto c = case_of(data, ElementType::f32, k, what);
        const auto cpu = search_cases::answer("cpu", c, {}, true), gpu = search_cases::answer("cuda", c, {}, true);
        ASSERT_TRUE(cpu && gpu) << c.label;
        ASSERT_TRUE(same_answer(*cpu, *gpu)) << c.label;
        EXPECT_EQ("gemm-f16", gpu->report.path) << c.label;
        EXPECT_EQ(0, gpu->report.scanned) << c.label;
        EXPECT_LT(gpu->report.candidates, 0.1 * n * q) << c.label;
    }
}

// A query of zeros is at distance 0 of every point but those with a NaN; one whose squares underflow is not of zeros.
TEST(GpuEntropies, QueriesOfZeros) {
    constexpr std::int64_t n = 700, d = 5, k = 9;
    entropy_attacks::Data data(n, 3, d, 8);
    entropy_attacks::each(data, [](auto& rows, auto i, auto) {
        return i % 7 == 2 ? std::numeric_limits<double>::quiet_NaN() : entropy_attacks::exponential(rows);
    });
    for (std::int64_t j = 0; j < d; ++j) {
        data.queries[static_cast<std::size_t>(j)] = 0;
        data.queries[static_cast<std::size_t>(d + j)] = 1e-200 * static_cast<double>(j + 1);
        data.queries[static_cast<std::size_t>(2 * d + j)] = j % 2 ? -0.0 : 0.0;
    }
    const auto c = case_of(data, ElementType::f64, k, "zeros");
    const auto cpu = search_cases::answer("cpu", c, {"exact", "", 0, false}, true);
    const auto gpu = search_cases::answer("cuda", c, {"gemm-f16", "", 0, false}, true);
    ASSERT_TRUE(cpu && gpu);
    ASSERT_TRUE(same_answer(*cpu, *gpu)) << c.label;
    EXPECT_EQ(0, gpu->distances64[0]);
}

// Queries that are points: a pair's two sides are two distances.
TEST(GpuEntropies, GraphsTakeEachPairTwice) {
    constexpr std::int64_t n = 3000, d = 48, k = 6;
    entropy_attacks::Data data(n, 1, d, 9);
    entropy_attacks::each(data, [](auto& rows, auto, auto) { return entropy_attacks::exponential(rows); });
    const auto c = case_of(data, ElementType::f32, k, "graph");
    const kith::Options cpu = search_cases::options_of("cpu", c.variant, {}, true),
                        cuda = search_cases::options_of("cuda", c.variant, {}, true);
    ASSERT_TRUE(same_answer(kith::graph(c.points.view, k, cpu), kith::graph(c.points.view, k, cuda))) << c.label;
}

}  // namespace
