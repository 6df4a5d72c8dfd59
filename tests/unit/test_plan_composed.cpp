// Plans of composed paths, "NAME+SELECTOR", on imaginary machines: what is chosen, refused, and kept within budgets.
#include <gtest/gtest.h>

#include "gpu/distance/distance_kernels.h"
#include "gpu/select/choice.h"
#include "kith/error.h"
#include "plan/planner.h"

namespace {

using kith::planner::Machine;
using kith::planner::Request;

constexpr std::int64_t gigabyte = std::int64_t{1} << 30;

Machine with_gpu() {
    Machine m;
    m.threads = 8;
    m.free_bytes = 64 * gigabyte;
    m.devices = {{"imaginary", 90, 70 * gigabyte, 132}};
    return m;
}

Request of(const std::string& path, kith::Shape shape = {1 << 18, 8192, 64, 10, kith::ElementType::f32, false}) {
    Request r;
    r.shape = shape;
    r.path = path;
    r.metric.traits.gemm = kith::metric::Gemm::l2;
    r.metric.traits.direct = kith::metric::Direct::squares;
    return r;
}

void refused(const Request& r, const Machine& machine, const std::string& why) {
    try {
        kith::planner::make(r, machine);
        ADD_FAILURE() << r.path;
    } catch (const kith::Error& error) {
        EXPECT_EQ(kith::ErrorCode::invalid_argument, error.code()) << error.what();
        EXPECT_NE(std::string::npos, std::string(error.what()).find("'" + r.path + "'")) << error.what();
        EXPECT_NE(std::string::npos, std::string(error.what()).find(why)) << error.what();
    }
}

TEST(ComposedPlan, EveryKernelWithEverySelector) {
    for (const kith::gpu::DistanceKernel& kernel : kith::gpu::distance_kernels)
        for (const kith::gpu::Selector& selector : kith::gpu::selectors) {
            const std::string path = std::string(kernel.name) + "+" + selector.name;
            const kith::Plan p = kith::planner::make(of(path), with_gpu());
            EXPECT_EQ(kith::Path::direct_f32, p.path) << path;
            EXPECT_EQ(kernel.name, p.distances);
            EXPECT_EQ(selector.name, p.selector);
            EXPECT_EQ(path, kith::path_name(p));
            EXPECT_TRUE(p.forced);
            EXPECT_GE(p.matrix_queries, 1) << path;
            EXPECT_LE(p.matrix_queries, p.query_tile) << path;
            EXPECT_LE(static_cast<double>(p.workspace_bytes), 0.85 * 70.0 * gigabyte) << path;
            EXPECT_NE(std::string::npos, kith::explain(p).find(path));
        }
}

TEST(ComposedPlan, KeepsItsBudget) {
    for (const kith::gpu::DistanceKernel& kernel : kith::gpu::distance_kernels) {
        Request r = of(kernel.name + std::string("+bits"));
        std::int64_t before = 0;
        for (r.memory = gigabyte / 2; r.memory <= 8 * gigabyte; r.memory *= 2) {
            const kith::Plan p = kith::planner::make(r, with_gpu());
            EXPECT_LE(p.workspace_bytes, r.memory);
            const std::int64_t norms = kernel.expanded() ? kith::gpu::expanded_bytes(p.chunk_points, p.query_tile) : 0;
            EXPECT_GE(p.workspace_bytes, p.matrix_queries * p.chunk_points * 4 + norms);
            EXPECT_GE(p.matrix_queries * p.chunk_points, before);
            EXPECT_TRUE(p.matrix_queries <= 128 || p.matrix_queries == p.query_tile || p.matrix_queries % 128 == 0);
            before = p.matrix_queries * p.chunk_points;
        }
        r.memory = 1 << 20;
        EXPECT_THROW(kith::planner::make(r, with_gpu()), kith::Error);
    }
}

TEST(ComposedPlan, HasRoomForTheNormsOfProducts) {
    const kith::Shape few{1 << 18, 10, 64, 10, kith::ElementType::f32, false};
    const kith::Plan direct = kith::planner::make(of("baseline+bits", few), with_gpu()),
                     expanded = kith::planner::make(of("cublas+bits", few), with_gpu());
    EXPECT_EQ(10, direct.matrix_queries);
    EXPECT_EQ(10, expanded.matrix_queries);
    EXPECT_EQ(kith::gpu::expanded_bytes(expanded.chunk_points, expanded.query_tile),
              expanded.workspace_bytes - direct.workspace_bytes);
}

TEST(ComposedPlan, RefusesWhatItCannotServe) {
    const Machine gpu = with_gpu();
    refused(of("nothing+bits"), gpu, "kuang-zhao");
    refused(of("baseline+nothing"), gpu, "no selector");
    refused(of("baseline+"), gpu, "no selector");
    refused(of("+bits"), gpu, "no distance kernel");
    refused(of("baseline+bits", {1 << 18, 100, 64, 2048, kith::ElementType::f32, false}), gpu, "2048");
    refused(of("baseline+cluster-select", {1 << 20, 100, 64, 10, kith::ElementType::f32, false}), gpu, "524288");
    Request other = of("baseline+bits");
    other.metric.traits.direct = kith::metric::Direct::quotient;
    refused(other, gpu, "absolute differences");
    Request sums = of("cublas+bits");
    sums.metric.traits.direct = kith::metric::Direct::sum;
    refused(sums, gpu, "squared differences alone");
    Request cpu = of("baseline+bits");
    cpu.device = "cpu";
    refused(cpu, gpu, "GPU");
    Machine none = gpu;
    none.devices.clear();
    refused(of("baseline+bits"), none, "GPU");
    Machine two = gpu;
    two.devices.push_back(two.devices.front());
    Request both = of("baseline+bits");
    both.device = "cuda:0,1";
    refused(both, two, "one GPU");
    // Fewer points than the list would have: all of them are listed, and nothing is left to prove.
    EXPECT_EQ(40, kith::gpu::listed_points(40, 40, 2048));
    EXPECT_EQ(43, kith::gpu::listed_points(1000, 10, 0));
}

}  // namespace
