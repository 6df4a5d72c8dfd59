// The path "kato": the graph of grids dealt to devices is that of one search, for any metric, number of devices and
// side of a grid. The devices here are the CPU several times; test_gpu_kato.cpp has GPUs.
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "formula/symmetry.h"
#include "grids.h"
#include "papers/kato/deal.h"

namespace {

using namespace kith;

// Kato and Hosino, Fig. 3: every row once, and of a triangle whose rows are a multiple of 2 D as much for each device.
TEST(Deal, BalancesATriangle) {
    for (int parts = 1; parts <= 9; ++parts) {
        for (const std::int64_t rows : {0, 1, 7, 16, 36, 100, 720}) {
            std::set<std::int64_t> seen;
            std::set<std::int64_t> areas;
            for (int part = 0; part < parts; ++part) {
                std::int64_t area = 0;
                for (std::int64_t t = 0; t < exact::dealt_rows(rows, part, parts); ++t) {
                    const std::int64_t row = exact::dealt_row(t, part, parts);
                    EXPECT_TRUE(row % (2 * parts) == part || row % (2 * parts) == 2 * parts - part - 1);
                    EXPECT_LT(row, rows);
                    for (int other = 0; other < parts; ++other)
                        EXPECT_EQ(other == part, exact::is_dealt(row, other, parts));
                    EXPECT_TRUE(seen.insert(row).second);
                    area += rows - row;
                }
                areas.insert(area);
            }
            EXPECT_EQ(rows, std::ssize(seen));
            if (rows % (2 * parts) == 0) {
                EXPECT_EQ(1u, areas.size());
            }
        }
    }
}

TEST(Symmetry, IsProvenOrNot) {
    for (const char* text : {"a + fabs(q - x)", "a + (q - x) * (q - x)", "a + (x - q) * (x - q)", "fmax(a, abs(x - q))",
                             "a + pow(fabs(q - x), 3)", "a + pow(q - x, 2)", "a + fabs(q - x) / (fabs(q) + fabs(x))",
                             "a + (sqrt(q) - sqrt(x)) * (sqrt(q) - sqrt(x))", "a - q * x", "a + fabs(-(q - x) * 3)",
                             "a + (q - x) * (x - q)", "sqrt(a * a + (q - x) * (q - x))", "a"})
        EXPECT_TRUE(formula::symmetric(formula::parse(text))) << text;
    for (const char* text : {"a + q", "a + (q - x)", "a + q * log(q / x)", "a + (q - x) * (q + x)", "a + pow(q - x, 3)",
                             "a + (q < x)", "a * (q - x) * (q - x)", "a + fabs(q - 2 * x)", "a + min(q, x)"})
        EXPECT_FALSE(formula::symmetric(formula::parse(text))) << text;
}

class KatoOfMetric : public testing::TestWithParam<std::string> {};

TEST_P(KatoOfMetric, GivesTheBitsOfASearch) {
    grids::same_as_scan(GetParam(), {{1, 1, 3, 2}, {300, 1, 33, 10}, {150, 1, 4, 149}, {40, 1, 7, 50}}, "cpu",
                        [](std::uint64_t turn) {
                            api::KatoProbe probe;
                            probe.devices.assign(1 + turn % 8, "cpu");
                            probe.grid = turn % 3 == 0 ? 0 : 1 + static_cast<std::int64_t>(turn % 40);
                            return probe;
                        });
}

INSTANTIATE_TEST_SUITE_P(Metric, KatoOfMetric, testing::ValuesIn(metric_names()),
                         [](const auto& info) { return info.param; });

TEST(Kato, TakesOverFromDevicesThatFail) {
    grids::same_where_devices_fail({"cpu", "cpu", "cpu"}, "duplicates", {300, 1, 16, 9}, "cpu");
}

// A budget that is too small for GPUs is an error, not work for the CPU.
TEST(Kato, AsksForItsMemory) {
    const std::vector<float> points(3000 * 4, 1.0f);
    Options options;
    options.memory = 1 << 20;
    api::KatoProbe probe;
    probe.devices = {"cuda:0", "cpu"};
    probe.before = [](int) { FAIL() << "began"; };
    try {
        grids::graph(view(points.data(), 3000, 4), 5, options, probe);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(ErrorCode::out_of_memory, error.code()) << error.what();
    }
}

// By the public interface.
TEST(Kato, IsAPath) {
    const auto c =
        search_cases::make_case(variants("euclidean", 16, ElementType::f32).front(), "gaussian", {200, 5, 16, 9},
                                ElementType::f32, ElementType::f32, arrays::Shape::dense, 3);
    Options options = search_cases::options_of("cpu", c.variant, {"", "", 1, false}, false);
    const Neighbors want = graph(c.points.view, c.k, options);
    options.path = "kato";
    const Neighbors got = graph(c.points.view, c.k, options);
    EXPECT_TRUE(same_answer(want, got));
    EXPECT_EQ("kato", got.report.path);
    EXPECT_EQ(200, got.report.scanned);  // a CPU has no phase 1 in f32
    Options selected = options;
    selected.selector = "heap";  // which it would not take
    EXPECT_THROW(graph(c.points.view, c.k, selected), Error);
    selected.selector = "threshold";  // every path's own
    EXPECT_TRUE(same_answer(want, graph(c.points.view, c.k, selected)));
    EXPECT_THROW(search(c.points.view, c.queries.view, c.k, options), Error);
    EXPECT_THROW(Index(c.points.view, options), Error);
    Options plain = options;
    plain.path.clear();
    EXPECT_THROW(Index(c.points.view, plain).graph(c.k, options), Error);
    const Plan plan = kith::plan({200, 200, 16, 9, ElementType::f32, true}, options);
    EXPECT_NE(std::string::npos, plan.why.find("kato"));
}

}  // namespace
