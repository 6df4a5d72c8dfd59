// Ordinary data on the CPU against the oracle.
#include "ordinary_cases.h"

namespace {

class CpuOrdinary : public testing::TestWithParam<std::string> {};

TEST_P(CpuOrdinary, EveryPath) {
    ordinary_cases::every_path("cpu", GetParam());
}

INSTANTIATE_TEST_SUITE_P(Data, CpuOrdinary, testing::ValuesIn(ordinary_cases::names()),
                         [](const auto& info) { return ordinary_cases::test_name(info.param); });

}  // namespace
