// Plans of fused paths, "hanak-fused", on imaginary machines: lists, parts of the points, budgets, what is refused.
#include <gtest/gtest.h>

#include <limits>

#include "papers/fused/fused_kernels.h"
#include "plan/planner.h"
#include "plan_cases.h"

namespace {

namespace gpu = kith::gpu;
using kith::metric::Direct;
using namespace plan_cases;

constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();

TEST(FusedPlan, EveryKernel) {
    for (const gpu::FusedKernel& kernel : gpu::fused_kernels) {
        EXPECT_EQ(&kernel, gpu::find_fused_kernel(kernel.name));
        const kith::Plan p = kith::planner::make(of(kernel.name), with_gpu());
        EXPECT_EQ(kith::Path::direct_f32, p.path);
        EXPECT_EQ(kernel.name, p.distances);
        EXPECT_EQ("", p.selector);
        EXPECT_EQ(kernel.name, kith::path_name(p));
        EXPECT_TRUE(p.forced);
        EXPECT_EQ(8192, p.query_tile);
        EXPECT_GE(p.fused_lists, p.query_tile);
        EXPECT_LE(static_cast<double>(p.workspace_bytes), 0.85 * 70.0 * gigabyte);
        EXPECT_NE(std::string::npos, kith::explain(p).find(kernel.name));
    }
    EXPECT_EQ(nullptr, gpu::find_fused_kernel("direct-f32"));
}

// A list has room for more than the neighbours, up to what its kernel holds.
TEST(FusedPlan, Lists) {
    for (const gpu::FusedKernel& kernel : gpu::fused_kernels) {
        for (std::int64_t wanted = 1; wanted < kernel.most_listed; ++wanted) {
            const std::int64_t capacity = gpu::fused_capacity(kernel, wanted);
            ASSERT_EQ(0, capacity & (capacity - 1));
            ASSERT_GT(capacity, wanted);
            ASSERT_LE(capacity, kernel.most_listed);
            ASSERT_EQ(std::min<std::int64_t>(50, capacity), gpu::fused_listed(kernel, 50, wanted));
        }
        const std::int64_t most = kernel.most_listed - 1;
        EXPECT_NO_THROW(
            kith::planner::make(of(kernel.name, {1 << 18, 64, 16, most, kith::ElementType::f32, false}), with_gpu()));
        EXPECT_NO_THROW(kith::planner::make(
            of(kernel.name, {1 << 18, 1 << 18, 16, most - 1, kith::ElementType::f32, true}), with_gpu()));
        refused(of(kernel.name, {1 << 18, 1 << 18, 16, most, kith::ElementType::f32, true}), with_gpu(),
                std::to_string(kernel.most_listed));
        refused(of(kernel.name, {1 << 18, 64, 16, most + 1, kith::ElementType::f32, false}), with_gpu(),
                std::to_string(kernel.most_listed));
        // All points, and nothing is left to prove.
        EXPECT_NO_THROW(kith::planner::make(
            of(kernel.name, {kernel.most_listed, 64, 16, most + 1, kith::ElementType::f32, false}), with_gpu()));
    }
}

// Parts cover the points, in whole tiles, none empty; their blocks are no more than those waves that are worth filling.
TEST(FusedPlan, Parts) {
    for (const gpu::FusedKernel& kernel : gpu::fused_kernels)
        for (const std::int64_t n : {1, 255, 256, 257, 4095, 8192, 8193, 100'000, 1 << 20, 0x7fffffff})
            for (const std::int64_t q : {1, 3, 4, 31, 33, 128, 4096, 8192, 1 << 16})
                for (const std::int64_t lists : {q, 2 * q + 1, any}) {
                    const gpu::FusedParts parts = gpu::fused_parts(kernel, q, n, multiprocessors, lists);
                    ASSERT_EQ(0, parts.points % gpu::filter_tile_points);
                    ASSERT_GE(parts.count * parts.points, n);
                    ASSERT_LT((parts.count - 1) * parts.points, n);
                    ASSERT_LE(parts.count * q, lists);
                    if (parts.count == 1) continue;
                    ASSERT_GE(parts.points, kernel.least_points / 2);
                    ASSERT_LE((q + kernel.queries - 1) / kernel.queries * parts.count,
                              gpu::fused_waves * 2 * multiprocessors);
                }
    const gpu::FusedKernel& hanak = *gpu::find_fused_kernel("hanak-fused");
    EXPECT_EQ(1, gpu::fused_parts(hanak, 8192, 1 << 20, multiprocessors, any).count);
    EXPECT_EQ(2, gpu::fused_parts(hanak, 4096, 1 << 20, multiprocessors, any).count);
    EXPECT_EQ(1, gpu::fused_parts(hanak, 4096, 1 << 20, multiprocessors, 4096).count);
}

// What a device does in a wave, it does of a little more than a wave's blocks, or of half a wave's, in hardly more time
// than their share: waves times the points of a block, over what each wave would do if it were full.
TEST(FusedPlan, WavesAreFull) {
    const auto excess = [](const gpu::FusedKernel& kernel, std::int64_t q, std::int64_t n) {
        const gpu::FusedParts parts = gpu::fused_parts(kernel, q, n, multiprocessors, any);
        const std::int64_t wave = 2 * multiprocessors, blocks = (q + kernel.queries - 1) / kernel.queries,
                           waves = (blocks * parts.count + wave - 1) / wave;
        return static_cast<double>(waves * parts.points) * static_cast<double>(wave) /
               (static_cast<double>(blocks) * static_cast<double>(n));
    };
    for (const gpu::FusedKernel& kernel : gpu::fused_kernels)
        for (std::int64_t q = 64; q < 100'000; q += 1 + q / 7)
            EXPECT_LT(excess(kernel, q, 1 << 22), 1.2) << kernel.name << ", q " << q;
    const gpu::FusedKernel& hanak = *gpu::find_fused_kernel("hanak-fused");
    EXPECT_EQ(8, gpu::fused_parts(hanak, 5242, 1 << 21, multiprocessors, any).count);
    EXPECT_LT(excess(hanak, 5242, 1 << 21), 1.01);
}

// The plan has lists for as many parts as fill the device.
TEST(FusedPlan, FewQueriesFillTheDevice) {
    for (const gpu::FusedKernel& kernel : gpu::fused_kernels)
        for (const std::int64_t n : {1 << 16, 1 << 20})
            for (const std::int64_t q : {1, 4, 128, 256, 1000, 4096}) {
                const kith::Plan p =
                    kith::planner::make(of(kernel.name, {n, q, 16, 10, kith::ElementType::f32, false}), with_gpu());
                EXPECT_EQ(gpu::fused_parts(kernel, q, n, multiprocessors, any).count,
                          gpu::fused_parts(kernel, q, n, multiprocessors, p.fused_lists).count)
                    << kernel.name << ", n " << n << ", q " << q;
            }
}

// Whatever the tile, its lists are within what the plan counts.
TEST(FusedPlan, KeepsItsBudget) {
    for (const gpu::FusedKernel& kernel : gpu::fused_kernels)
        for (const std::int64_t k : {10, 100}) {
            Request r = of(kernel.name, {1 << 18, 8192, 16, k, kith::ElementType::f32, false});
            for (r.memory = gigabyte / 16; r.memory <= 8 * gigabyte; r.memory *= 2) {
                const kith::Plan p = kith::planner::make(r, with_gpu());
                EXPECT_LE(p.workspace_bytes, r.memory);
                const std::int64_t listed = gpu::fused_listed(kernel, p.chunk_points, k);
                EXPECT_GE(p.workspace_bytes, gpu::fused_list_bytes(listed) * p.fused_lists);
                for (const std::int64_t q : {std::int64_t{1}, p.query_tile / 3 + 1, p.query_tile})
                    EXPECT_LE(q * gpu::fused_parts(kernel, q, p.chunk_points, multiprocessors, p.fused_lists).count,
                              p.fused_lists);
            }
            r.memory = 1 << 12;
            EXPECT_THROW(kith::planner::make(r, with_gpu()), kith::Error);
        }
}

TEST(FusedPlan, RefusesWhatItCannotServe) {
    const Machine machine = with_gpu();
    for (const gpu::FusedKernel& kernel : gpu::fused_kernels) {
        for (const Direct form : {Direct::sum, Direct::maximum, Direct::powers})
            EXPECT_NO_THROW(kith::planner::make(of(kernel.name, form), machine));
        for (const Direct form : {Direct::quotients, Direct::quotient, Direct::mismatches, Direct::jaccard,
                                  Direct::dice, Direct::divergence})
            refused(of(kernel.name, form), machine, "absolute differences");
        refused(of(kernel.name, Direct::none), machine, "direct form");
    }
    Request cpu = of("sismanis-segments");
    cpu.device = "cpu";
    refused(cpu, machine, "GPU");
    Machine two = machine;
    two.devices.push_back(two.devices.front());
    Request both = of("hanak-fused");
    both.device = "cuda:0,1";
    refused(both, two, "one GPU");
    refused(of("hanak"), machine, "unknown");
}

}  // namespace
