// The papers' component: what a build without it says of its paths and selectors, and that both know their names.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kith/algorithms.h"
#include "kith/distances.h"
#include "kith/kith.h"
#include "kith/schedule.h"
#include "papers/plan.h"
#include "plan_cases.h"

namespace {

using namespace plan_cases;

constexpr const char* paths[] = {"kuang-zhao+bits",   "cublas+hanak-rule", "hanak-fused",
                                 "sismanis-segments", "hanak-rule",        "kato"};

// "" where there is none.
template <class Work>
std::string refusal(const Work& work) {
    try {
        work();
    } catch (const kith::Error& error) {
        EXPECT_EQ(kith::ErrorCode::invalid_argument, error.code()) << error.what();
        return error.what();
    }
    return "";
}

// Made, or refused by name with what is to be done.
template <class Work>
void made_or_refused(const std::string& name, const Work& work) {
    const std::string said = refusal(work);
    if (kith::papers::built()) {
        EXPECT_EQ("", said) << name;
        return;
    }
    EXPECT_NE(std::string::npos, said.find("'" + name + "'")) << said;
    EXPECT_NE(std::string::npos, said.find("built without KITH_PAPERS")) << said;
    EXPECT_NE(std::string::npos, said.find("-D KITH_PAPERS=ON")) << said;
}

TEST(Papers, NamesOfPaths) {
    for (const char* const path : paths) EXPECT_TRUE(kith::papers::is_path(path)) << path;
    for (const kith::planner::PathFacts& each : kith::planner::paths())
        EXPECT_FALSE(kith::papers::is_path(kith::name(each.path)));
    EXPECT_FALSE(kith::papers::is_path(""));
    EXPECT_FALSE(kith::papers::is_path("baseline"));
    EXPECT_EQ("bits", kith::papers::selector_of("kuang-zhao+bits"));
    EXPECT_EQ("", kith::papers::selector_of("hanak-fused"));
    EXPECT_TRUE(kith::papers::is_kernel("baseline"));
    EXPECT_FALSE(kith::papers::is_kernel("baseline+bits"));
    EXPECT_NE(std::string::npos, kith::papers::kernel_names().find("baseline, garcia"));
}

TEST(Papers, DistancesOfAKernel) {
    made_or_refused("garcia", [&] { kith::papers::distances_plan(of("garcia"), with_gpu()); });
    // A build without the component refuses before it looks at anything else.
    const float values[] = {0, 1};
    kith::Options options;
    options.device = "cpu";
    options.path = "garcia";
    const kith::MatrixView points = kith::view(values, 2, 1);
    const std::string said = refusal([&] { kith::distances(points, points, options); });
    EXPECT_NE(std::string::npos, said.find("'garcia'")) << said;
    EXPECT_NE(std::string::npos, said.find(kith::papers::built() ? "one GPU" : "-D KITH_PAPERS=ON")) << said;
}

TEST(Papers, PlansOfPaths) {
    for (const char* const path : paths)
        made_or_refused(path, [&] {
            Request r = of(path);
            r.shape.graph = kith::papers::is_graph_path(path);
            kith::planner::make(r, with_gpu());
        });
}

TEST(Papers, SearchesBySelector) {
    Request r = of("");
    r.selector = "radix-select";
    made_or_refused(r.selector, [&] { kith::planner::make(r, with_gpu()); });
}

// What the planner may choose is always there.
TEST(Papers, Selectors) {
    for (const kith::gpu::Selector& selector : kith::gpu::selectors) {
        Request r = of("", {1000, 100, 1, 10, kith::ElementType::f32, false});
        r.selector = selector.name;
        const auto work = [&] { kith::planner::selection(r, with_gpu()); };
        if (selector.papers) made_or_refused(selector.name, work);
        else EXPECT_EQ("", refusal(work)) << selector.name;
    }
}

TEST(Papers, BuildInfoSaysWhetherTheyAreThere) {
    const std::string info = kith::build_info(), selectors = kith::selectors_help();
    EXPECT_EQ(kith::papers::built(),
              info.find("\npapers       none: this kith was built without") == std::string::npos);
    EXPECT_EQ(kith::papers::built(), info.find("kuang-zhao+...") != std::string::npos);
    EXPECT_EQ(kith::papers::built(), selectors.find("merge-queue") != std::string::npos);
    EXPECT_NE(std::string::npos, selectors.find("radix-select"));
}

// Every path of the component that the list names can be planned by that name.
TEST(Papers, ListsOfPathsAndSelectors) {
    std::vector<std::string> names;
    for (const kith::PathInfo& path : kith::paths()) {
        names.push_back(path.name);
        EXPECT_TRUE(path.on_cpu || path.on_gpu) << path.name;
        EXPECT_FALSE(path.what.empty()) << path.name;
        Request r = of(path.name + (path.takes_selector ? "+bits" : ""));
        if (!kith::papers::is_path(r.path)) continue;  // others depend on the metric
        r.shape.graph = path.graphs_only;
        EXPECT_EQ("", refusal([&] { kith::planner::make(r, with_gpu()); })) << r.path;
    }
    const auto listed = [&](const char* name) { return std::ranges::find(names, name) != names.end(); };
    EXPECT_TRUE(listed("tree"));
    for (const char* const name : {"kato", "garcia", "hanak-fused", "hanak-rule"})
        EXPECT_EQ(kith::papers::built(), listed(name)) << name;
    std::size_t of_gpu = 0;
    for (const kith::SelectorInfo& s : kith::selectors()) {
        of_gpu += s.on_gpu;
        EXPECT_GE(s.min_k, 1) << s.name;
    }
    EXPECT_GT(of_gpu, 5U);
    EXPECT_EQ(kith::papers::built(), kith::build_info().find("\n  kato ") != std::string::npos);
}

// A graph by a path of one GPU has the schedule of one; "kato" those of several.
TEST(Papers, SchedulesOfGraphs) {
    if (!kith::papers::built()) return;
    const kith::Shape shape{100'000, 100'000, 64, 10, kith::ElementType::f32, true};
    for (const char* const path : paths) {
        kith::Options options;
        options.path = path;
        const bool grids = kith::papers::is_graph_path(path);
        if (std::string(path).starts_with("cublas")) continue;  // which a plan for another machine does not load
        EXPECT_EQ(grids ? 8U : 1U, kith::graph_schedules(shape, options, "h100").size()) << path;
    }
    kith::Options options;
    options.selector = "bits";
    EXPECT_EQ(1U, kith::graph_schedules(shape, options, "h100").size());
}

// The plan of "kato" says its grids and its memory, on GPUs and on a CPU.
TEST(Papers, PlanOfGrids) {
    if (!kith::papers::built()) return;
    const kith::Shape shape{100'000, 100'000, 64, 10, kith::ElementType::f32, true};
    kith::Options options;
    options.path = "kato";
    const kith::Plan plan = kith::plan_on("h100", shape, options);
    EXPECT_EQ("kato", kith::path_name(plan));
    EXPECT_EQ("", plan.selector);
    EXPECT_GE(plan.query_tile, 1024);
    EXPECT_EQ(plan.query_tile, plan.point_tile);
    const std::vector<kith::GraphSchedule> schedules = kith::graph_schedules(shape, options, "h100");
    const double points = 4.0 * 100'000 * 64, heaps = 12.0 * 100'000 * 10;
    EXPECT_NEAR(schedules.front().device_bytes - points + heaps, static_cast<double>(plan.workspace_bytes), 1);
    EXPECT_EQ(0U, plan.why.find("path kato: forced")) << plan.why;
    // Phase 1 is in f32 on a GPU, if the metric's bound there is proven.
    const auto in_f32 = [&](kith::MetricId metric, kith::ElementType type) {
        kith::Options of = options;
        of.metric = metric;
        kith::Shape typed = shape;
        typed.type = type;
        return kith::plan_on("h100", typed, of).why.find("in f32") != std::string::npos;
    };
    EXPECT_TRUE(in_f32(kith::MetricId::hellinger, kith::ElementType::f32));
    EXPECT_TRUE(in_f32(kith::MetricId::cityblock, kith::ElementType::f64));
    EXPECT_FALSE(in_f32(kith::MetricId::cosine, kith::ElementType::f32));
    EXPECT_FALSE(in_f32(kith::MetricId::kl_divergence, kith::ElementType::f32));
    options.device = "cpu";
    EXPECT_EQ("kato", kith::path_name(kith::plan(shape, options)));
}

// The path of graphs, by a search of the host's own points.
TEST(Papers, Graphs) {
    const float points[] = {0, 1, 3, 6};
    kith::Options options;
    options.path = "kato";
    options.device = "cpu";
    made_or_refused("kato", [&] {
        const kith::Neighbors graph = kith::graph(kith::view(points, 4, 1), 1, options);
        EXPECT_EQ((std::vector<std::int64_t>{1, 0, 1, 2}), graph.ids);
    });
}

}  // namespace
