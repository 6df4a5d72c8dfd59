// select() on the CPU: the k smallest or largest of each row.
#include <gtest/gtest.h>

#include "select_cases.h"

namespace {

kith::Options on_cpu(int threads) {
    kith::Options options;
    options.device = "cpu";
    options.threads = threads;
    return options;
}

TEST(Select, EveryKind) {
    select_cases::every_kind(on_cpu(0));
}
TEST(Select, EveryKindOneThread) {
    select_cases::every_kind(on_cpu(1));
}
TEST(Select, EveryK) {
    select_cases::every_k(on_cpu(2));
}

TEST(Select, IntoIdsAlone) {
    const double row[] = {3, 1, 2, 1};
    std::int64_t ids[2] = {-7, -7};
    kith::select_into(kith::view(row, 1, 4), 2, on_cpu(1), {ids, nullptr, kith::host_memory});
    EXPECT_EQ(1, ids[0]);
    EXPECT_EQ(3, ids[1]);
}

TEST(Select, RefusesWhatItCannotOrder) {
    const auto refusal = [](const kith::MatrixView& m, std::int64_t k) -> std::string {
        try {
            kith::select(m, k, on_cpu(1));
        } catch (const kith::Error& error) {
            EXPECT_EQ(kith::ErrorCode::invalid_argument, error.code());
            return error.what();
        }
        return "accepted";
    };
    const float row[] = {3, 1, 2};
    const std::int8_t bytes[] = {1, 2};
    EXPECT_NE(std::string::npos, refusal(kith::view(row, 1, 3), 4).find("k: 4; expected at most the 3 columns"));
    EXPECT_NE(std::string::npos, refusal(kith::view(row, 1, 3), 0).find("k: 0"));
    EXPECT_NE(std::string::npos, refusal(kith::view(bytes, 1, 2), 1).find("i8"));
}

}  // namespace
