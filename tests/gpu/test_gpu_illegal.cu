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
#include "api/kato.h"
#include "api/validate.h"
#include "kith/kith.h"
#include "same_answer.h"

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

// `shared`: pairs are shared, else blocks of queries.
void graph_that_loses(bool shared) {
    const std::vector<float> values = gaussian(n * d);
    const MatrixView points = view(values.data(), n, d);
    Options options;
    options.device = "cpu";
    const Neighbors want = graph(points, k, options);
    options.device = "cuda:0";
    const int lost = last_device();
    std::atomic<bool> done{false};
    api::GroupProbe probe{{}, 0, shared ? 0 : 500, shared ? 1 : 0};
    probe.before = [&](int device, std::int64_t block) {
        if (block >= 0 && device == 1 && !done.exchange(true)) lose(lost);
    };
    ProgressMeter progress(options.progress, 0);
    const MetricSpec metric = api::validate_metric(options.metric, points, 1, progress);
    const api::DeviceGroup group(points, metric, {"cuda:0", "cuda:" + std::to_string(lost)},
                                 {n, n, d, k, ElementType::f32, true}, options, false, progress, probe);
    const Neighbors got = api::collect(
        n, k, false, [&](const NeighborsView& out) { return group.run(nullptr, k, options, progress, out); });
    EXPECT_TRUE(done);
    EXPECT_TRUE(same_answer(want, got));
    expect_said(got.report);
}

TEST(GpuIllegalAccess, InASharedGraph) {
    if (std::getenv(in_child)) graph_that_loses(true);
    else in_a_process_of_its_own();
}

TEST(GpuIllegalAccess, InAGraphOfBlocks) {
    if (std::getenv(in_child)) graph_that_loses(false);
    else in_a_process_of_its_own();
}

TEST(GpuIllegalAccess, InGridsOfAGraph) {
    if (!std::getenv(in_child)) return in_a_process_of_its_own();
    const std::vector<float> values = gaussian(n * d);
    const MatrixView points = view(values.data(), n, d);
    Options options;
    options.device = "cpu";
    const Neighbors want = graph(points, k, options);
    options.device = "cuda:0";
    const int lost = last_device();
    api::KatoProbe probe{{"cuda:0", "cuda:" + std::to_string(lost)}, 500, {}};
    probe.before = [&](int device) {
        if (device == 1) lose(lost);
    };
    ProgressMeter progress(options.progress, 0);
    const MetricSpec metric = api::validate_metric(options.metric, points, 1, progress);
    const Neighbors got = api::collect(n, k, false, [&](const NeighborsView& out) {
        return api::kato_graph(points, metric, k, options, progress, out, probe);
    });
    EXPECT_TRUE(same_answer(want, got));
    expect_said(got.report);
}

}  // namespace
