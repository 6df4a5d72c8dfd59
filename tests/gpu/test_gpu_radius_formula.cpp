// Searches within radii of a formula's distances on a GPU, filtered and scanned: those of the CPU's distances.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "gpu_arrays.h"
#include "kith/index.h"
#include "kith/radius.h"
#include "radius_cases.h"

namespace {

using namespace kith;
using radius_cases::difference;

Options with(const char* formula, const std::string& device, const std::string& path = "") {
    Options options;
    options.metric = MetricId::formula;
    options.metric.formula = formula;
    options.device = device;
    options.path = path;
    options.f64 = true;
    return options;
}

const char* const formulas[] = {
    "a + fabs(q - x)",
    "max(a, fabs(q - x))",
    "a + (q - x) * (q - x) / (1 + fabs(q) + fabs(x))",
    "a + pow(fabs(q - x), 1.5)",
    "a + (q < x ? x - q : 2 * (q - x))",
    "a - q * x",
};

// Every formula by both paths: rows, counts, graphs, an Index, and with little memory.
TEST(GpuRadiusFormula, IsThatOfTheCpu) {
    // A formula is compiled anew for most data sets, so each meets half of them.
    std::uint64_t turn = 0, pair = 0;
    for (const char* formula : formulas) {
        for (const char* data : {"gaussian", "lattice", "duplicates", "nan_rows", "integers"}) {
            if (pair++ % 2) continue;
            const std::int64_t n = 1300, q = 60, d = turn % 2 ? 5 : 24;
            const ElementType type = turn % 3 ? ElementType::f32 : ElementType::f16;
            const auto set = adversarial::make(data, n, q, d, turn);
            const auto points = arrays::make(set.points, n, d, type, arrays::shapes[turn % 3]);
            const auto queries = arrays::make(set.queries, q, d, type, arrays::shapes[(turn + 1) % 3]);
            const bool open = turn % 2 == 0;
            const Neighbors all = search(points.view, queries.view, n, with(formula, "cpu", "exact"));
            // A formula may fall below 0, so the radii may.
            const std::vector<double> radii = radius_cases::radii_on(all, true, turn);
            const Radius r = radius_cases::radius_of(radii, open);
            const RadiusNeighbors want = radius_cases::expected(all, radii, open, false, true);
            const RadiusNeighbors among = radius_graph(points.view, radii[1], with(formula, "cpu"));
            ++turn;
            for (const char* path : {"exact", "direct-f32"}) {
                const std::string what = std::string(formula) + ", " + data + ", " + path;
                Options options = with(formula, "cuda:0", path);
                const RadiusNeighbors got = radius(points.view, queries.view, r, options);
                ASSERT_EQ(path, got.report.path) << what;
                ASSERT_EQ("", difference(want, got)) << what;
                ASSERT_EQ(radius_cases::counts_of(want), radius_counts(points.view, queries.view, r, options).counts)
                    << what;
                ASSERT_EQ("", difference(among, radius_graph(points.view, radii[1], options))) << what;
                const Index index(points.view, options);
                ASSERT_EQ("", difference(want, index.radius(queries.view, r, options))) << what;
                options.memory = std::int64_t{8} << 20;
                ASSERT_EQ("", difference(want, radius(points.view, queries.view, r, options))) << what << ", 8 MiB";
            }
        }
    }
}

// Enough pairs that the filter is compiled for them unasked.
TEST(GpuRadiusFormula, FiltersOrdinaryData) {
    const char* const formula = "a + fabs(q - x) / (1 + fabs(q) + fabs(x))";
    const auto set = adversarial::make("gaussian", 20'000, 2'000, 16, 1);
    const auto points = arrays::make(set.points, 20'000, 16, ElementType::f32);
    const auto queries = arrays::make(set.queries, 2'000, 16, ElementType::f32);
    const auto near = search(points.view, queries.view, 20, with(formula, "cpu"));
    std::vector<double> radii;
    for (std::int64_t i = 0; i < 2'000; ++i) radii.push_back(near.distances64[static_cast<std::size_t>(i * 20 + 19)]);
    const Radius r = radius_cases::radius_of(radii, false);
    const Options filtered = with(formula, "cuda:0", "direct-f32");
    const RadiusNeighbors got = radius(points.view, queries.view, r, filtered);
    EXPECT_EQ("", difference(radius(points.view, queries.view, r, with(formula, "cpu")), got));
    EXPECT_EQ(2'000, got.report.certified + got.report.retried);
    // Most of what is not within is left out by the filter.
    EXPECT_LT(got.report.candidates, 2'000.0 * 200);
}

}  // namespace
