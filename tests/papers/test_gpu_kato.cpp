// The path "kato" on GPUs: the bits of the CPU's full scan, whatever the metric, the devices and the side of a grid.
// Where there is one GPU only, it is taken several times.
#include <gtest/gtest.h>

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

TEST(GpuKatoOf, ADeviceThatFails) {
    grids::same_where_devices_fail(devices(3), "probabilities", {900, 1, 32, 20}, "cuda:0");
}

}  // namespace
