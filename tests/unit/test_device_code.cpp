// Which code of a build a device runs, by the rule of the CUDA runtime.
#include <gtest/gtest.h>

#include "gpu/runtime/device_code.h"

namespace {

using kith::gpu::device_code;

constexpr const char* usual = "80,90a-real";  // of CMakeLists.txt
const std::string by_ptx = "PTX of compute_80, compiled by the driver";

TEST(DeviceCode, OfTheUsualBuild) {
    EXPECT_EQ("sm_80", device_code(usual, 80));
    EXPECT_EQ("sm_80", device_code(usual, 86));
    EXPECT_EQ("sm_80", device_code(usual, 89));
    EXPECT_EQ("sm_90a", device_code(usual, 90));
    EXPECT_EQ(by_ptx, device_code(usual, 100));
    EXPECT_EQ(by_ptx, device_code(usual, 120));
    EXPECT_EQ("no code of this build, which has 80,90a-real", device_code(usual, 75));
}

TEST(DeviceCode, PtxAloneIsCompiledByTheDriver) {
    EXPECT_EQ(by_ptx, device_code("80-virtual,90a-real", 80));
    EXPECT_EQ(by_ptx, device_code("80-virtual,90a-real", 89));
    EXPECT_EQ("sm_90a", device_code("80-virtual,90a-real", 90));
}

TEST(DeviceCode, TheNewestBinaryOfTheMajorVersion) {
    EXPECT_EQ("sm_86", device_code("80,86", 89));
    EXPECT_EQ("sm_80", device_code("86-real,80", 80));
    EXPECT_EQ("PTX of compute_86, compiled by the driver", device_code("80,86", 90));
    EXPECT_EQ("sm_100", device_code("80,90a-real,100", 103));
}

TEST(DeviceCode, ASuffixIsForItsOwnAlone) {
    EXPECT_EQ("sm_90a", device_code("90,90a", 90));
    EXPECT_EQ("PTX of compute_90, compiled by the driver", device_code("90,90a", 100));
    EXPECT_EQ("no code of this build, which has 90a", device_code("90a", 100));
    EXPECT_EQ("no code of this build, which has ", device_code("", 90));
    EXPECT_EQ("sm_100f", device_code("100f", 103));
    EXPECT_EQ("no code of this build, which has 100f", device_code("100f", 120));
}

}  // namespace
