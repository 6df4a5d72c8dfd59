// Plans of searches by a selector that was asked for: the device that serves it, the distances before it, the words of
// a refusal.
#include <gtest/gtest.h>

#include <string>

#include "cpu/select/selectors.h"
#include "gpu/select/selectors.h"
#include "plan/by_selector.h"
#include "plan_cases.h"

namespace {

namespace cpu = kith::cpu;
namespace gpu = kith::gpu;
using kith::metric::Direct;
using namespace plan_cases;

Request by(const std::string& selector, kith::Shape shape = {1 << 18, 8192, 16, 10, kith::ElementType::f32, false}) {
    Request r = of("", shape);
    r.selector = selector;
    return r;
}

// In words that name the selector and `why`.
void refused_selector(const Request& r, const Machine& machine, const std::string& why) {
    try {
        kith::planner::make(r, machine);
        ADD_FAILURE() << r.selector;
    } catch (const kith::Error& error) {
        EXPECT_EQ(kith::ErrorCode::invalid_argument, error.code()) << error.what();
        EXPECT_NE(std::string::npos, std::string(error.what()).find("'" + r.selector + "'")) << error.what();
        EXPECT_NE(std::string::npos, std::string(error.what()).find(why)) << error.what();
    }
}

Machine without_gpu() {
    Machine m = with_gpu();
    m.devices.clear();
    m.no_device = "there is no driver";
    return m;
}

// Each is the plan of the composed path that it names.
TEST(SelectorPlan, EverySelectorOfAGpu) {
    for (const gpu::Selector& selector : gpu::selectors) {
        const kith::Plan p = kith::planner::make(by(selector.name), with_gpu());
        if (std::string(selector.name) == "threshold") {
            EXPECT_EQ("", p.distances);  // the paths' own
            continue;
        }
        EXPECT_EQ("register-tiled", p.distances);
        EXPECT_EQ(selector.name, p.selector);
        EXPECT_EQ(std::string("register-tiled+") + selector.name, kith::path_name(p));
        EXPECT_EQ(0U, p.why.find("selector " + p.selector + ": forced, behind register-tiled (tiles of pairs"))
            << p.why;
        kith::Plan path = kith::planner::make(of(kith::path_name(p)), with_gpu());
        EXPECT_NE(std::string::npos, p.why.find(path.why));
        path.why = p.why;
        EXPECT_EQ(path, p);
    }
}

// The fastest kernel of Fig. 5.1's grid on an H200; where there is no cuBLAS, or the metric is none of squares, the
// fastest of the others.
TEST(SelectorPlan, KernelByShape) {
    struct Row {
        std::int64_t q, d;
        const char *squares, *others;
    };
    for (const Row& row :
         {Row{1, 4, "baseline", "baseline"}, Row{1, 512, "baseline", "baseline"}, Row{8, 4, "baseline", "baseline"},
          Row{8, 16, "cublas", "baseline"}, Row{8, 64, "cublas", "krulis"}, Row{32, 16, "krulis", "krulis"},
          Row{32, 128, "cublas", "krulis"}, Row{128, 4, "register-tiled", "register-tiled"},
          Row{1024, 64, "register-tiled", "register-tiled"}, Row{1024, 512, "cublas", "register-tiled"},
          Row{8192, 128, "register-tiled", "register-tiled"}, Row{8192, 512, "cublas", "register-tiled"}}) {
        Request r = by("bits", {1 << 16, row.q, row.d, 10, kith::ElementType::f32, false});
        EXPECT_EQ(row.squares, kith::planner::make(r, with_gpu()).distances) << row.q << ", " << row.d;
        Machine none = with_gpu();
        none.products_absence = [] { return std::string("there is no cuBLAS"); };
        EXPECT_EQ(row.others, kith::planner::make(r, none).distances) << row.q << ", " << row.d;
        r.metric.traits.direct = Direct::sum;
        EXPECT_EQ(row.others, kith::planner::make(r, with_gpu()).distances) << row.q << ", " << row.d;
    }
    for (const kith::planner::KernelRow& row : kith::planner::kernel_rows)
        EXPECT_NE(nullptr, gpu::find_distance_kernel(row.name)) << row.name;
}

TEST(SelectorPlan, BesideAPath) {
    Request r = by("bits");
    r.path = "krulis";
    EXPECT_EQ("krulis+bits", kith::path_name(kith::planner::make(r, with_gpu())));
    r.path = "garcia+bits";
    EXPECT_EQ("garcia+bits", kith::path_name(kith::planner::make(r, with_gpu())));
    for (const char* const path : {"garcia+radix-select", "garcia+hanak-rule"}) {
        r.path = path;
        refused_selector(r, with_gpu(), "which has another");
    }
    for (const char* const path : {"exact", "gemm-f16", "direct-f32", "hanak-fused", "hanak-rule", "kato"}) {
        r.path = path;
        refused_selector(r, with_gpu(), std::string("path is '") + path + "'");
    }
    Request heap = by("heap");
    heap.device = "cpu";
    heap.path = "exact";
    EXPECT_EQ("heap", kith::planner::make(heap, with_gpu()).selector);
    heap.path = "gemm-f32";
    refused_selector(heap, with_gpu(), "expected exact or none");
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
    r = by("bits");
    r.metric.traits.direct = Direct::none;
    refused_selector(r, with_gpu(), "on a CPU every metric has vector, ");
    r = by("bits");
    r.metric.user = true;
    refused_selector(r, with_gpu(), "built-in metrics");
    Machine two = with_gpu();
    two.devices.push_back(two.devices.front());
    r = by("bits");
    r.device = "cuda:0,1";
    refused_selector(r, two, "one device");
    EXPECT_THROW(kith::planner::divide(r, two, {0, 1}), kith::Error);
    // More than it lists: said of the selector's path.
    r = by("bits", {1 << 18, 100, 64, 2048, kith::ElementType::f32, false});
    try {
        kith::planner::make(r, with_gpu());
        ADD_FAILURE();
    } catch (const kith::Error& error) {
        EXPECT_NE(std::string::npos, std::string(error.what()).find("bits takes up to 2048")) << error.what();
    }
}

}  // namespace
