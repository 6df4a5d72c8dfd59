// Radii that GPUs share: the rows and counts of the CPU. Where there is one GPU only, it is taken several times.
#include <gtest/gtest.h>

#include "gpu/backend.h"
#include "gpu_arrays.h"
#include "radius_devices.h"

namespace {

using namespace kith;
using radius_cases::counts_of;
using radius_cases::difference;
using radius_devices::counted;
using radius_devices::Group;
using radius_devices::listed;

// Two GPUs, or the one that there is twice, and the CPU.
std::vector<std::string> devices() {
    return {"cuda:0", gpu::device_count() > 1 ? "cuda:1" : "cuda:0", "cpu"};
}

class GpuRadiusOfDevices : public testing::TestWithParam<std::string> {};

TEST_P(GpuRadiusOfDevices, IsThatOfTheCpu) {
    const bool similarity = oracle::definition(GetParam()).similarity;
    std::uint64_t turn = GetParam().size();
    for (const char* data : {"duplicates", "gaussian", "nan_rows", "clusters", "lattice"}) {
        const auto type = arrays::element_types[turn % 6];
        const std::int64_t d = GetParam() == "haversine" ? 2 : 24;
        const auto all = variants(GetParam(), d, type);
        const auto c = search_cases::make_case(all[turn % all.size()], data, {700, 600, d, 1}, type, type,
                                               arrays::shapes[turn % 3], turn);
        const Options on_cpu = search_cases::options_of("cpu", c.variant, {}, turn % 2 == 0);
        const Options on_gpu = search_cases::options_of("cuda:0", c.variant, {}, turn % 2 == 0);
        const std::vector<double> radii = radius_cases::radii_on(radius_cases::all_of(c), similarity, turn);
        const Radius r = radius_cases::radius_of(radii, turn % 3 == 0);
        const RadiusNeighbors want = radius(c.points.view, c.queries.view, r, on_cpu);
        const RadiusNeighbors among = radius_graph(c.points.view, radii.front(), on_cpu);
        const auto points = gpu_arrays::on_device(c.points), queries = gpu_arrays::on_device(c.queries);
        for (const std::int64_t shard : {0, 300}) {
            for (const bool resident : {false, true}) {
                const MatrixView& p = resident ? points.view : c.points.view;
                const MatrixView& q = resident ? queries.view : c.queries.view;
                const Group group{devices(), {{}, shard, 100}, resident == (shard > 0)};
                const std::string label = c.label + ", shard " + std::to_string(shard) + (resident ? ", resident" : "");
                ASSERT_EQ("", difference(want, listed(group, p, &q, r, on_gpu))) << label;
                ASSERT_EQ("", difference(among, listed(group, p, nullptr, radii.front(), on_gpu))) << label;
                ASSERT_EQ(counts_of(want), counted(group, p, &q, r, on_gpu).counts) << label;
                ASSERT_EQ(counts_of(among), counted(group, p, nullptr, radii.front(), on_gpu).counts) << label;
            }
        }
        ++turn;
    }
}

INSTANTIATE_TEST_SUITE_P(Metric, GpuRadiusOfDevices, testing::ValuesIn(metric_names()),
                         [](const auto& info) { return info.param; });

class GpuRadiusGroup : public testing::Test {
protected:
    void SetUp() override {
        const Variant variant = variants("euclidean", 16, ElementType::f32).front();
        c = search_cases::make_case(variant, "clusters", {12000, 900, 16, 1}, ElementType::f32, ElementType::f32,
                                    arrays::Shape::dense, 7);
        on_gpu = search_cases::options_of("cuda:0", variant, {}, false);
        const Options on_cpu = search_cases::options_of("cpu", variant, {}, false);
        r = radius(c.points.view, c.queries.view, 1e30, on_cpu).distances[40];
        want = radius(c.points.view, c.queries.view, r, on_cpu);
        among = radius_graph_counts(c.points.view, r, on_cpu).counts;
    }

    search_cases::Case c;
    Options on_gpu;
    double r = 0;
    RadiusNeighbors want;
    std::vector<std::int64_t> among;
};

// A GPU that fails at its second block, and both: the other one, and the CPU.
TEST_F(GpuRadiusGroup, OthersTakeOver) {
    on_gpu.memory = std::int64_t{64} << 20;
    for (const std::int64_t shard : {0, 6000}) {
        for (const int failing : {1, 2}) {
            Group group{{devices()[0], devices()[1]}, {{}, shard, 100}, false};
            group.probe.before = [&](int device, std::int64_t block) {
                if (block >= (shard > 0 ? 0 : 1) && (failing == 2 || device == 1))
                    throw Error(ErrorCode::device, "device: it fell off the bus");
            };
            const std::string label = std::to_string(shard) + ", " + std::to_string(failing);
            const RadiusNeighbors got = listed(group, c.points.view, &c.queries.view, r, on_gpu);
            EXPECT_EQ("", difference(want, got)) << label;
            EXPECT_FALSE(got.report.fallbacks.empty()) << label;
            EXPECT_EQ(among, counted(group, c.points.view, nullptr, r, on_gpu).counts) << label;
        }
    }
}

// Waves that are cut: rows come in order, and once.
TEST_F(GpuRadiusGroup, KeepsToTheMemory) {
    on_gpu.memory = std::int64_t{16} << 20;
    for (const std::int64_t shard : {0, 6000}) {
        Group group{{devices()[0], devices()[1]}, {{}, shard, 0}, false};
        std::int64_t next = 0;
        group.seen = [&](const RadiusRows& rows) {
            EXPECT_EQ(next, rows.first);
            next += rows.count;
        };
        EXPECT_EQ("", difference(want, listed(group, c.points.view, &c.queries.view, r, on_gpu))) << shard;
        EXPECT_EQ(900, next);
    }
}

// By the public interface: all GPUs, once and of an Index.
TEST_F(GpuRadiusGroup, ByName) {
    on_gpu.device = "cuda:all";
    EXPECT_EQ("", difference(want, radius(c.points.view, c.queries.view, r, on_gpu)));
    EXPECT_EQ(among, radius_graph_counts(c.points.view, r, on_gpu).counts);
    const Index index(c.points.view, on_gpu);
    const RadiusNeighbors got = index.radius(c.queries.view, r);
    EXPECT_EQ("", difference(want, got));
    EXPECT_EQ(among, index.radius_graph_counts(r).counts);
    EXPECT_EQ(900, got.report.certified + got.report.retried + got.report.scanned);
    for (int i = 0; i < gpu::device_count(); ++i)
        EXPECT_NE(std::string::npos, got.report.device.find("cuda:" + std::to_string(i))) << got.report.device;
}

}  // namespace
