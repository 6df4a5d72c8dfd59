// The path "kato" on GPUs: the bits of the CPU's full scan, whatever the metric, the devices and the side of a grid.
// Where there is one GPU only, it is taken several times.
#include <gtest/gtest.h>

#include "api/kato.h"
#include "api/validate.h"
#include "gpu/backend.h"
#include "same_answer.h"
#include "search_cases.h"

namespace {

using namespace kith;

Neighbors kato(const MatrixView& points, std::int64_t k, const Options& options, const api::KatoProbe& probe) {
    ProgressMeter progress(options.progress, 0);
    const MetricSpec metric = api::validate_metric(options.metric, points, 1, progress);
    return api::collect(points.rows, k, options.f64, [&](const NeighborsView& out) {
        return api::kato_graph(points, metric, k, options, progress, out, probe);
    });
}

std::vector<std::string> devices(int count) {
    std::vector<std::string> on;
    for (int i = 0; i < count; ++i) on.push_back(gpu::device_count() > 1 && i % 2 == 1 ? "cuda:1" : "cuda:0");
    return on;
}

class GpuKato : public testing::TestWithParam<std::string> {};

TEST_P(GpuKato, GivesTheBitsOfTheCpu) {
    std::uint64_t turn = GetParam().size();
    for (const char* data : {"duplicates", "all_equal", "gaussian", "nan_rows", "infinities", "denormals"}) {
        for (const search_cases::Size& size :
             {search_cases::Size{700, 1, 24, 10}, {300, 1, 40, 299}, {90, 1, 3, 100}}) {
            const auto type = arrays::element_types[turn % 6];
            const auto all = variants(GetParam(), size.d, type);
            const auto c =
                search_cases::make_case(all[turn % all.size()], data, size, type, type, arrays::shapes[turn % 3], turn);
            Options options = search_cases::options_of("cpu", c.variant, {"exact", "", 0, false}, turn % 2);
            const Neighbors want = graph(c.points.view, c.k, options);
            options.path.clear();
            api::KatoProbe probe;
            probe.devices = devices(1 + static_cast<int>(turn % 8));
            if (turn % 6 == 1) probe.devices.emplace_back("cpu");
            probe.grid = turn % 3 == 0 ? 0 : 7 + static_cast<std::int64_t>(turn % 90);
            options.device = "cuda:0";
            ASSERT_TRUE(same_answer(want, kato(c.points.view, c.k, options, probe)))
                << c.label << ", " << probe.devices.size() << " devices, grid " << probe.grid;
            ++turn;
        }
    }
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
        EXPECT_TRUE(same_answer(want, kato(c.points.view, k, options, {devices(2), 999, {}}))) << k;
    };
    same(3500);
    for (const char* formula : {"a + fabs(q - x)", "a + fmax(q - x, 0)"}) {
        options.metric = MetricId::formula;
        options.metric.formula = formula;
        same(10);
    }
}

TEST(GpuKatoOf, ADeviceThatFails) {
    const auto c =
        search_cases::make_case(variants("hellinger", 32, ElementType::f32).front(), "probabilities", {900, 1, 32, 20},
                                ElementType::f32, ElementType::f32, arrays::Shape::dense, 3);
    Options options = search_cases::options_of("cuda:0", c.variant, {}, false);
    const Neighbors want = graph(c.points.view, c.k, options);
    for (const int failing : {1, 3}) {
        api::KatoProbe probe{devices(3), 100, {}};
        probe.before = [&](int device) {
            if (device < failing) throw Error(ErrorCode::device, "device: it fell off the bus");
        };
        const Neighbors got = kato(c.points.view, c.k, options, probe);
        EXPECT_TRUE(same_answer(want, got));
        ASSERT_FALSE(got.report.fallbacks.empty());
    }
}

}  // namespace
