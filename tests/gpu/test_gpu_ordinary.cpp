// Ordinary data on CUDA against the oracle.
#include "ordinary_cases.h"

namespace {

class GpuOrdinary : public testing::TestWithParam<std::string> {};

TEST_P(GpuOrdinary, EveryPath) {
    ordinary_cases::every_path("cuda", GetParam());
}

INSTANTIATE_TEST_SUITE_P(Data, GpuOrdinary, testing::ValuesIn(ordinary_cases::names()),
                         [](const auto& info) { return ordinary_cases::test_name(info.param); });

}  // namespace
