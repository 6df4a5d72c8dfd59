// Plans of all distances by a distance kernel alone, on imaginary machines.
#include <gtest/gtest.h>

#include <string>

#include "gpu/filter/levels.h"
#include "papers/distance/distance_kernels.h"
#include "papers/distance/tuning.h"
#include "papers/plan.h"
#include "plan_cases.h"

namespace {

using kith::metric::Direct;
using namespace plan_cases;

kith::Plan planned(const Request& r, const Machine& machine) {
    return kith::papers::distances_plan(r, machine);
}

void distances_refused(const Request& r, const Machine& machine, const std::string& why) {
    try {
        planned(r, machine);
        ADD_FAILURE() << r.path;
    } catch (const kith::Error& error) {
        EXPECT_EQ(kith::ErrorCode::invalid_argument, error.code()) << error.what();
        EXPECT_NE(std::string::npos, std::string(error.what()).find("'" + r.path + "'")) << error.what();
        EXPECT_NE(std::string::npos, std::string(error.what()).find(why)) << error.what();
    }
}

TEST(DistancesPlan, EveryKernel) {
    for (const kith::gpu::DistanceKernel& kernel : kith::gpu::distance_kernels) {
        const kith::Plan p = planned(of(kernel.name), with_gpu());
        EXPECT_EQ(kernel.name, p.distances);
        EXPECT_EQ(0, p.device);
        EXPECT_TRUE(p.attempts.empty());
        EXPECT_GE(p.matrix_queries, 1);
        EXPECT_LE(p.matrix_queries, p.query_tile);
        EXPECT_TRUE(p.matrix_queries == p.query_tile || p.matrix_queries % kith::gpu::filter_tile_queries == 0);
        EXPECT_LE(static_cast<double>(p.matrix_queries * p.chunk_points * 12), kith::gpu::tuning::most_matrix_bytes);
    }
}

TEST(DistancesPlan, KeepsItsBudget) {
    for (const kith::gpu::DistanceKernel& kernel : kith::gpu::distance_kernels) {
        Request r = of(kernel.name);
        for (r.memory = gigabyte / 2; r.memory <= 8 * gigabyte; r.memory *= 2) {
            const kith::Plan p = planned(r, with_gpu());
            EXPECT_LE(p.workspace_bytes, r.memory);
            EXPECT_GE(p.workspace_bytes, p.matrix_queries * p.chunk_points * 12);
        }
        r.memory = 1 << 16;
        EXPECT_THROW(planned(r, with_gpu()), kith::Error);
    }
}

TEST(DistancesPlan, RefusesByName) {
    Request r = of("garcia");
    r.device = "cpu";
    distances_refused(r, with_gpu(), "one GPU");
    distances_refused(of("garcia"), Machine{}, "one GPU");
    distances_refused(of("garcia", Direct::none), with_gpu(), "direct form");
    distances_refused(of("cublas", Direct::sum), with_gpu(), "squared differences");
    distances_refused(of("sieve"), with_gpu(), "baseline, garcia");
    r = of("garcia");
    r.metric.user = true;
    distances_refused(r, with_gpu(), "built-in metric");
    Machine without = with_gpu();
    without.products_absence = [] { return std::string("no products here"); };
    distances_refused(of("cublas"), without, "no products here");
    EXPECT_EQ("garcia", planned(of("garcia"), without).distances);
}

}  // namespace
