// The path "kato" on GPUs: the bits of the CPU's full scan, whatever the metric, the devices and the side of a grid.
// Where there is one GPU only, it is taken several times.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "gpu/backend.h"
#include "grids.h"

namespace {

using namespace kith;

std::vector<std::string> devices(int count) {
    std::vector<std::string> on;
    for (int i = 0; i < count; ++i) on.push_back(gpu::device_count() > 1 && i % 2 == 1 ? "cuda:1" : "cuda:0");
    return on;
}

class GpuKato : public testing::TestWithParam<std::string> {};

TEST_P(GpuKato, GivesTheBitsOfTheCpu) {
    grids::same_as_scan(GetParam(), {{700, 1, 24, 10}, {300, 1, 40, 299}, {90, 1, 3, 100}}, "cuda:0",
                        [](std::uint64_t turn) {
                            api::KatoProbe probe;
                            probe.devices = devices(1 + static_cast<int>(turn % 8));
                            if (turn % 6 == 1) probe.devices.emplace_back("cpu");
                            probe.grid = turn % 3 == 0 ? 0 : 7 + static_cast<std::int64_t>(turn % 90);
                            return probe;
                        });
}

INSTANTIATE_TEST_SUITE_P(Metric, GpuKato, testing::ValuesIn(metric_names()),
                         [](const auto& info) { return info.param; });

// Heaps beyond shared memory, and formulas of either kind.
TEST(GpuKatoOf, ManyNeighboursAndFormulas) {
    const auto c =
        search_cases::make_case(variants("cityblock", 16, ElementType::f32).front(), "duplicates", {5000, 1, 16, 3500},
                                ElementType::f32, ElementType::f32, arrays::Shape::dense, 3);
    Options options = search_cases::options_of("cpu", c.variant, {"exact", "", 0, false}, true);
    const auto same = [&](std::int64_t k) {
        options.device = "cpu";
        options.path = "exact";
        const Neighbors want = graph(c.points.view, k, options);
        options.device = "cuda:0";
        options.path.clear();
        EXPECT_TRUE(same_answer(want, grids::graph(c.points.view, k, options, {devices(2), 999, {}}))) << k;
    };
    same(3500);
    for (const char* formula : {"a + fabs(q - x)", "a + fmax(q - x, 0)"}) {
        options.metric = MetricId::formula;
        options.metric.formula = formula;
        same(10);
    }
}

// The graph beside the full scan's on the CPU, which the devices are given as `probe` says.
struct Graphs {
    Neighbors want, got;
};
Graphs both(const MatrixView& points, std::int64_t k, const Metric& metric, const api::KatoProbe& probe) {
    Options options;
    options.metric = metric;
    options.f64 = true;
    options.device = "cpu";
    options.path = "exact";
    Graphs out;
    out.want = graph(points, k, options);
    options.device = "cuda:0";
    options.path.clear();
    out.got = grids::graph(points, k, options, probe);
    return out;
}

// Phase 1 in f32 certifies nearly all of ordinary points, of every metric with a proven bound; no others' points.
TEST(GpuKatoOf, OrdinaryPointsAreCertified) {
    for (const std::string& metric : metric_names()) {
        const auto c =
            search_cases::make_case(variants(metric, 24, ElementType::f32).front(), "probabilities", {1500, 1, 24, 20},
                                    ElementType::f32, ElementType::f32, arrays::Shape::dense, 5);
        const Graphs found = both(c.points.view, c.k, c.variant.metric, {devices(2), 200, {}});
        EXPECT_TRUE(same_answer(found.want, found.got)) << metric;
        const Report& report = found.got.report;
        EXPECT_EQ(1500, report.certified + report.scanned);
        const kith::metric::Traits traits = api::traits_of(c.variant.metric.id);
        const bool bound = traits.direct != metric::Direct::none || metric == "hellinger" || metric == "seuclidean";
        const bool ties = metric == "jaccard" || metric == "dice" || metric == "hamming";  // of all points
        if (!bound) {
            EXPECT_EQ(1500, report.scanned) << metric;
        } else if (!ties) {
            EXPECT_GE(report.certified, 1400) << metric;
        }
    }
}

// Some points are nearer to each other than f32 resolves: their pairs alone are scanned in binary64, by each part that
// has some. Without the certificate they would have wrong neighbours, since their heaps hold few of them.
TEST(GpuKatoOf, PointsThatF32DoesNotTellApart) {
    constexpr std::int64_t n = 1500, d = 3, near = 200;
    adversarial::Random random(11);
    std::vector<double> points(n * d);
    for (double& x : points) x = std::abs(random.gaussian());
    for (std::int64_t i = 0; i < near; ++i)
        for (std::int64_t j = 0; j < d; ++j)
            points[static_cast<std::size_t>((i * 7 + 5) * d + j)] = 1e6 + 1e-6 * random.uniform();
    const MatrixView view = kith::view(points.data(), n, d);
    for (const char* metric : {"hellinger", "euclidean", "cityblock", "chebyshev"})
        for (const int count : {1, 2, 3})
            for (const std::int64_t k : {1, 10}) {
                const Graphs found = both(view, k, metric_named(metric), {devices(count), 130, {}});
                EXPECT_TRUE(same_answer(found.want, found.got)) << metric << ", " << count << " devices, k " << k;
                EXPECT_GE(found.got.report.scanned, near / 2) << metric;
                EXPECT_LE(found.got.report.scanned, 2 * near) << metric;
            }
}

// Too few certified points: the part is computed in binary64. Heaps that hold all others: no point is scanned.
TEST(GpuKatoOf, FullAndCompleteHeaps) {
    std::vector<double> points(900 * 2, 1.0);
    for (std::size_t i = 0; i < points.size(); i += 3) points[i] += 1e-9 * static_cast<double>(i % 7);
    points[0] = 1e9;
    const MatrixView view = kith::view(points.data(), 900, 2);
    const Graphs full = both(view, 5, MetricId::euclidean, {devices(2), 100, {}});
    EXPECT_TRUE(same_answer(full.want, full.got));
    const Graphs complete = both(kith::view(points.data(), 30, 2), 5, MetricId::euclidean, {devices(2), 8, {}});
    EXPECT_TRUE(same_answer(complete.want, complete.got));
    EXPECT_EQ(30, complete.got.report.certified);
}

TEST(GpuKatoOf, ADeviceThatFails) {
    grids::same_where_devices_fail(devices(3), "probabilities", {900, 1, 32, 20}, "cuda:0");
}

}  // namespace
