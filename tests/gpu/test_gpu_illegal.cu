// A GPU that is lost in the middle of a graph or a search: a kernel of the program's own reads what is not there, after
// which the device's context serves nothing. In a process of its own, which is started anew: the others take the work
// over, and where there is one GPU the CPU does, and the report says so.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "api/device_group.h"
#include "api/validate.h"
#include "grids.h"
#include "kith/kith.h"

namespace {

using namespace kith;

constexpr const char* in_child = "KITH_TEST_LOSES_A_GPU";

__global__ void read_nowhere(volatile int* nowhere) {
    nowhere[0] = nowhere[1];
}

// The device's context is lost from here on.
void lose(int device) {
    cudaSetDevice(device);
    read_nowhere<<<1, 1>>>(reinterpret_cast<volatile int*>(64));
    cudaDeviceSynchronize();
}

int last_device() {
    int count = 0;
    cudaGetDeviceCount(&count);
    return count > 1 ? 1 : 0;
}

std::vector<float> gaussian(std::int64_t count) {
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& x : values) x = normal(random);
    return values;
}

// That call of a child of this test, in a process that does nothing else.
void in_a_process_of_its_own() {
    const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
    const std::string command = std::string(in_child) + "=1 /proc/" + std::to_string(getpid()) +
                                "/exe --gtest_brief=1 --gtest_filter=" + test.test_suite_name() + "." + test.name();
    EXPECT_EQ(0, std::system(command.c_str()));
}

void expect_said(const Report& report) {
    ASSERT_FALSE(report.fallbacks.empty());
    EXPECT_NE(std::string::npos, report.fallbacks.front().why.find("failed (device: ")) << report.fallbacks.front().why;
}

constexpr std::int64_t n = 4000, d = 64, k = 10;

// A graph on two GPUs, or on one taken twice, of which the second is lost, and its answer.
struct Case {
    std::vector<float> values = gaussian(n * d);
    MatrixView points = view(values.data(), n, d);
    Options options;
    Neighbors want;
    int lost = last_device();
    std::vector<std::string> devices = {"cuda:0", "cuda:" + std::to_string(lost)};
    ProgressMeter progress{options.progress, 0};
    MetricSpec metric = api::validate_metric(options.metric, points, 1, progress);

    Case() {
        options.device = "cpu";
        want = graph(points, k, options);
        options.device = "cuda:0";
    }
};

TEST(GpuIllegalAccess, InAGraphOfBlocks) {
    if (!std::getenv(in_child)) return in_a_process_of_its_own();
    Case c;
    std::atomic<bool> done{false};
    api::GroupProbe probe{{}, 0, 500};
    probe.before = [&](int device, std::int64_t block) {
        if (block >= 0 && device == 1 && !done.exchange(true)) lose(c.lost);
    };
    const api::DeviceGroup group(c.points, c.metric, c.devices, {n, n, d, k, ElementType::f32, true}, c.options, false,
                                 c.progress, probe);
    const Neighbors got = api::collect(
        n, k, false, [&](const NeighborsView& out) { return group.run(nullptr, k, c.options, c.progress, out); });
    EXPECT_TRUE(done);
    EXPECT_TRUE(same_answer(c.want, got));
    expect_said(got.report);
}

TEST(GpuIllegalAccess, InGridsOfAGraph) {
    if (!std::getenv(in_child)) return in_a_process_of_its_own();
    Case c;
    api::KatoProbe probe{c.devices, 500, {}};
    probe.before = [&](int device) {
        if (device == 1) lose(c.lost);
    };
    const Neighbors got = grids::graph(c.points, k, c.options, probe);
    EXPECT_TRUE(same_answer(c.want, got));
    expect_said(got.report);
}

}  // namespace
