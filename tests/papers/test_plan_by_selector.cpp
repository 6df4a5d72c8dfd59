// Plans of searches by a selector of a GPU that was asked for: the distances before it, the words of a refusal.
#include <gtest/gtest.h>

#include <string>

#include "gpu/select/selectors.h"
#include "papers/plan/kernel_choice.h"
#include "plan_cases.h"
#include "selector_requests.h"

namespace {

namespace gpu = kith::gpu;
using kith::metric::Direct;
using namespace plan_cases;

// Each is the plan of the composed path that it names.
TEST(GpuSelectorPlan, EverySelectorOfAGpu) {
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
TEST(GpuSelectorPlan, KernelByShape) {
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

TEST(GpuSelectorPlan, BesideAPath) {
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
}

TEST(GpuSelectorPlan, SaysWhatItServes) {
    Request r = by("bits");
    r.metric.traits.direct = Direct::none;
    refused_selector(r, with_gpu(), "on a CPU every metric has vector, ");
    r = by("bits");
    r.metric.user = true;
    refused_selector(r, with_gpu(), "built-in metrics");
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
