// The planner on imaginary machines: what it chooses, what it refuses, and that budgets are kept.
#include <gtest/gtest.h>

#include "kith/error.h"
#include "kith/plan.h"
#include "plan/planner.h"

namespace {

using kith::planner::Machine;
using kith::planner::Request;

Machine with_gpu(std::int64_t free_bytes) {
    Machine m;
    m.isa = "avx512";
    m.threads = 8;
    m.free_bytes = std::int64_t{64} << 30;
    m.devices = {{"imaginary", 90, free_bytes}};
    return m;
}

Request of(kith::Shape shape, kith::metric::Gemm gemm) {
    Request r;
    r.shape = shape;
    r.metric.traits.gemm = gemm;
    return r;
}

constexpr kith::Shape large{1 << 20, 8192, 128, 100, kith::ElementType::f32, false};

TEST(Plan, PrefersTheGpuAndItsFilter) {
    const kith::Plan p = kith::planner::make(of(large, kith::metric::Gemm::l2), with_gpu(std::int64_t{70} << 30));
    EXPECT_EQ(0, p.device);
    EXPECT_EQ("gemm-tf32", p.path);
    EXPECT_EQ(large.n, p.chunk_points);
    EXPECT_NE(std::string::npos, kith::explain(p).find("gemm-tf32"));
}

TEST(Plan, FallsBackToTheCpu) {
    Machine m = with_gpu(0);
    m.devices.clear();
    m.no_device = "no driver";
    Request r = of(large, kith::metric::Gemm::l2);
    EXPECT_EQ("gemm-f32", kith::planner::make(r, m).path);
    EXPECT_EQ(kith::host_memory, kith::planner::make(r, m).device);
    r.device = "cuda";
    try {
        kith::planner::make(r, m);
        FAIL();
    } catch (const kith::Error& e) {
        EXPECT_EQ(kith::ErrorCode::device, e.code());
        EXPECT_NE(std::string::npos, std::string(e.what()).find("no driver"));
    }
}

TEST(Plan, TakesBf16WhereTheMachineHasIt) {
    Machine m = with_gpu(0);
    m.devices.clear();
    Request r = of(large, kith::metric::Gemm::l2);
    m.bf16 = true;
    EXPECT_EQ("gemm-bf16", kith::planner::make(r, m).path);
    r.isa = "avx512";
    EXPECT_EQ("gemm-bf16", kith::planner::make(r, m).path);
    r.isa = "avx2";
    EXPECT_EQ("gemm-f32", kith::planner::make(r, m).path);
    const auto refusal = [&] {
        try {
            kith::planner::make(r, m);
        } catch (const kith::Error& e) {
            EXPECT_EQ(kith::ErrorCode::invalid_argument, e.code());
            return std::string(e.what());
        }
        return std::string("none");
    };
    r.path = "gemm-bf16";
    EXPECT_NE(std::string::npos, refusal().find("avx512"));
    r.isa = "";
    m.bf16 = false;
    EXPECT_NE(std::string::npos, refusal().find("AVX512_BF16"));
    r.path = "";
    EXPECT_EQ("gemm-f32", kith::planner::make(r, m).path);
    m.bf16 = true;
    r.shape.d = 8;
    EXPECT_EQ("gemm-f32", kith::planner::make(r, m).path);
}

TEST(Plan, ScansWhereNothingIsFiltered) {
    Request r = of(large, kith::metric::Gemm::l2);
    r.shape.k = large.n / 2;
    EXPECT_EQ("exact", kith::planner::make(r, with_gpu(std::int64_t{70} << 30)).path);
    EXPECT_EQ("exact", kith::planner::make(of(large, kith::metric::Gemm::none), with_gpu(std::int64_t{70} << 30)).path);
}

TEST(Plan, KeepsEveryBudget) {
    for (const auto gemm : {kith::metric::Gemm::l2, kith::metric::Gemm::none}) {
        for (const std::int64_t k : {1, 100, 3000}) {
            std::int64_t smallest = 0;
            for (std::int64_t memory = 1 << 16; memory <= std::int64_t{1} << 34; memory *= 2) {
                Request r = of(large, gemm);
                r.shape.k = k;
                r.memory = memory;
                try {
                    const kith::Plan p = kith::planner::make(r, with_gpu(std::int64_t{70} << 30));
                    EXPECT_LE(p.workspace_bytes, memory);
                    if (!smallest) smallest = memory;
                } catch (const kith::Error& e) {
                    EXPECT_EQ(kith::ErrorCode::out_of_memory, e.code());
                    EXPECT_EQ(0, smallest) << "refused " << memory << " after taking " << smallest;
                }
            }
            EXPECT_GT(smallest, 0);
            EXPECT_LE(smallest, 1 << 24);
        }
    }
}

TEST(Plan, PointsThatDoNotFitStream) {
    Request r = of(large, kith::metric::Gemm::l2);
    r.shape.n = 1'000'000'000;
    const kith::Plan p = kith::planner::make(r, with_gpu(std::int64_t{70} << 30));
    EXPECT_LT(p.chunk_points, r.shape.n);
    EXPECT_NE(std::string::npos, p.why.find("stream"));
}

TEST(Plan, AMillionByAMillionTakesAFewGibibytes) {
    Request r = of({1'000'000, 1'000'000, 128, 100, kith::ElementType::f32, true}, kith::metric::Gemm::l2);
    r.memory = std::int64_t{4} << 30;
    const kith::Plan p = kith::planner::make(r, with_gpu(std::int64_t{70} << 30));
    EXPECT_LE(p.workspace_bytes, r.memory);
    EXPECT_GE(p.query_tile, 1024);
}

TEST(Plan, IsAFunctionOfItsArguments) {
    const Request r = of(large, kith::metric::Gemm::cosine);
    EXPECT_EQ(kith::planner::make(r, with_gpu(1 << 30)), kith::planner::make(r, with_gpu(1 << 30)));
}

}  // namespace
