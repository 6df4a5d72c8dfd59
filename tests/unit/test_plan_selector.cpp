// Plans of searches by a selector that was asked for: the device that serves it, the distances before it, the words of
// a refusal.
#include <gtest/gtest.h>

#include <string>

#include "cpu/select/selectors.h"
#include "gpu/select/selectors.h"
#include "plan/by_selector.h"
#include "plan_cases.h"
#include "selector_requests.h"

namespace {

namespace cpu = kith::cpu;
namespace gpu = kith::gpu;
using kith::metric::Direct;
using namespace plan_cases;

Machine without_gpu() {
    Machine m = with_gpu();
    m.devices.clear();
    m.no_device = "there is no driver";
    return m;
}

TEST(SelectorPlan, EverySelectorOfACpu) {
    for (const cpu::Selector& selector : cpu::selectors)
        for (const bool forced : {true, false})
            for (const Direct form : {Direct::squares, Direct::none}) {
                Request r = by(selector.name);
                r.metric.traits.direct = form;
                if (forced) r.device = "cpu";
                // Where a device is chosen, the one that has the selector.
                for (const Machine& machine : {with_gpu(), without_gpu()}) {
                    const kith::Plan p = kith::planner::make(r, machine);
                    EXPECT_EQ(kith::host_memory, p.device);
                    EXPECT_EQ(kith::Path::exact, p.path);
                    EXPECT_EQ(selector.name, p.selector);
                    EXPECT_EQ("exact", kith::path_name(p));
                    EXPECT_NE(std::string::npos, p.why.find(std::string("selector ") + selector.name + ": forced"));
                }
            }
    Request r = by("insertion", {1000, 10, 4, 257, kith::ElementType::f32, false});
    refused_selector(r, without_gpu(), "from 1 to 256");
    r.shape.n = 200;  // all of them
    EXPECT_EQ("insertion", kith::planner::make(r, without_gpu()).selector);
}

// The distances of as many queries at a time as the budget holds, at least one.
TEST(SelectorPlan, BudgetOfACpu) {
    Request r = by("vector", {1 << 20, 4096, 16, 10, kith::ElementType::f32, false});
    r.device = "cpu";
    std::int64_t before = 0;
    for (r.memory = gigabyte / 4; r.memory <= 16 * gigabyte; r.memory *= 2) {
        const kith::Plan p = kith::planner::make(r, with_gpu());
        EXPECT_GE(p.query_tile, std::max<std::int64_t>(before, 1));
        EXPECT_LE(p.workspace_bytes, r.memory);
        EXPECT_LE(p.query_tile * 8 * r.shape.n, gigabyte);
        before = p.query_tile;
    }
    EXPECT_GT(before, 64);
    r.memory = 1 << 20;
    EXPECT_THROW(kith::planner::make(r, with_gpu()), kith::Error);
    // One query whose distances are more than is taken of many.
    r.memory = 0;
    r.shape = {std::int64_t{1} << 28, 4, 2, 10, kith::ElementType::f32, false};
    r.threads = 1;
    EXPECT_EQ(1, kith::planner::make(r, with_gpu()).query_tile);
}

TEST(SelectorPlan, BesideAPath) {
    Request heap = by("heap");
    heap.device = "cpu";
    heap.path = "exact";
    EXPECT_EQ("heap", kith::planner::make(heap, with_gpu()).selector);
    heap.path = "gemm-f32";
    refused_selector(heap, with_gpu(), "expected exact or none");
}

TEST(SelectorPlan, SaysWhichDeviceServes) {
    Request r = by("heap");
    r.device = "cuda";
    refused_selector(r, with_gpu(), "on the CPU only; device is cuda:0");
    r = by("bits");
    refused_selector(r, without_gpu(), "on a GPU only, and there is no driver; expected on the CPU one of vector, ");
    r.device = "cpu";
    refused_selector(r, with_gpu(), "on a GPU only, and the device is cpu");
    r = by("oracle");
    refused_selector(r, with_gpu(), "unknown");
    Machine two = with_gpu();
    two.devices.push_back(two.devices.front());
    r = by("bits");
    r.device = "cuda:0,1";
    refused_selector(r, two, "one device");
    EXPECT_THROW(kith::planner::divide(r, two, {0, 1}), kith::Error);
}

}  // namespace
