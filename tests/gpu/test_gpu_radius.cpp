// Searches by radius on a GPU, and shared by several: the bits of the CPU and the oracle's word, listed and counted.
#include "api/device_group.h"
#include "api/radius.h"
#include "api/validate.h"
#include "gpu/backend.h"
#include "gpu_arrays.h"
#include "radius_cases.h"

namespace {

using namespace kith;
using radius_cases::difference;

search_cases::Case make_case(const std::string& metric, const std::string& data, std::uint64_t turn) {
    const auto type = arrays::element_types[turn % 6];
    const std::int64_t d = metric == "haversine" ? 2 : 24;
    const auto all = variants(metric, d, type);
    return search_cases::make_case(all[turn % all.size()], data, {900, 70, d, 1}, type, type, arrays::shapes[turn % 3],
                                   turn);
}

class GpuRadius : public testing::TestWithParam<std::string> {};

TEST_P(GpuRadius, IsThatOfTheCpu) {
    std::uint64_t turn = GetParam().size();
    for (const char* data : {"duplicates", "gaussian", "nan_rows", "clusters", "lattice"}) {
        const auto c = make_case(GetParam(), data, turn);
        const auto found = radius_cases::one("cuda:0", c, {}, turn % 2 == 0, turn % 3 == 0, turn);
        ASSERT_TRUE(found) << c.label;
        ASSERT_EQ("", *found) << c.label;
        ++turn;
    }
}

TEST_P(GpuRadius, OfAnIndexOfDeviceMemoryAndOfTwoShards) {
    std::uint64_t turn = GetParam().size() + 1;
    const bool similarity = oracle::definition(GetParam()).similarity;
    for (const char* data : {"lattice", "gaussian"}) {
        const auto c = make_case(GetParam(), data, turn++);
        const std::vector<double> radii = radius_cases::radii_on(radius_cases::all_of(c), similarity, turn);
        const Radius r = radius_cases::radius_of(radii, false);
        const Options on_cpu = search_cases::options_of("cpu", c.variant, {}, true);
        const Options on_gpu = search_cases::options_of("cuda:0", c.variant, {}, true);
        const RadiusNeighbors want = radius(c.points.view, c.queries.view, r, on_cpu);
        const RadiusNeighbors among = radius_graph(c.points.view, radii.front(), on_cpu);
        const auto points = gpu_arrays::on_device(c.points), queries = gpu_arrays::on_device(c.queries);
        for (const bool resident : {false, true}) {
            const MatrixView& p = resident ? points.view : c.points.view;
            const MatrixView& q = resident ? queries.view : c.queries.view;
            ASSERT_EQ("", difference(want, radius(p, q, r, on_gpu))) << c.label;
            ASSERT_EQ("", difference(among, radius_graph(p, radii.front(), on_gpu))) << c.label;
            const Index index(p, on_gpu);
            ASSERT_EQ("", difference(want, index.radius(q, r, on_gpu))) << c.label;
            ASSERT_EQ(radius_cases::counts_of(want), index.radius_counts(q, r, on_gpu).counts) << c.label;

            ProgressMeter progress(on_gpu.progress, 0);
            const MetricSpec metric = api::validate_metric(on_gpu.metric, p, 1, progress);
            const Shape shape{p.rows, q.rows, p.cols, 1, p.type, false};
            const std::vector<std::string> devices{"cuda:0", gpu::device_count() > 1 ? "cuda:1" : "cuda:0"};
            const api::DeviceGroup group(p, metric, devices, shape, on_gpu, false, progress, {{}, 300, 100});
            const RadiusNeighbors shared = api::collect_radius(q.rows, true, [&](const TakeRadiusRows& take) {
                return api::run_radius(group, metric, {&q, r, on_gpu, progress, nullptr, &take});
            });
            ASSERT_EQ("", difference(want, shared)) << c.label;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Metric, GpuRadius, testing::ValuesIn(metric_names()),
                         [](const auto& info) { return info.param; });

}  // namespace
