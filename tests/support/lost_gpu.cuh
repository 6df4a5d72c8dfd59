// A GPU that is lost in the middle of a call: a kernel of the program's own reads what is not there, after which the
// device's context serves nothing. Such a test runs in a process of its own, which is started anew.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "api/check/validate.h"
#include "kith/kith.h"

namespace lost_gpu {

using namespace kith;

inline constexpr const char* in_child = "KITH_TEST_LOSES_A_GPU";

static __global__ void read_nowhere(volatile int* nowhere) {
    nowhere[0] = nowhere[1];
}

// The device's context is lost from here on.
inline void lose(int device) {
    cudaSetDevice(device);
    read_nowhere<<<1, 1>>>(reinterpret_cast<volatile int*>(64));
    cudaDeviceSynchronize();
}

inline int last_device() {
    int count = 0;
    cudaGetDeviceCount(&count);
    return count > 1 ? 1 : 0;
}

inline std::vector<float> gaussian(std::int64_t count) {
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& x : values) x = normal(random);
    return values;
}

// That call of a child of this test, in a process that does nothing else.
inline void in_a_process_of_its_own() {
    const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
    const std::string command = std::string(in_child) + "=1 /proc/" + std::to_string(getpid()) +
                                "/exe --gtest_brief=1 --gtest_filter=" + test.test_suite_name() + "." + test.name();
    EXPECT_EQ(0, std::system(command.c_str()));
}

inline void expect_said(const Report& report) {
    ASSERT_FALSE(report.fallbacks.empty());
    EXPECT_NE(std::string::npos, report.fallbacks.front().why.find("failed (device: ")) << report.fallbacks.front().why;
}

inline constexpr std::int64_t n = 4000, d = 64, k = 10;

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

}  // namespace lost_gpu
