// The papers' component: what a build without it says of its paths and selectors, and that both know their names.
#include <gtest/gtest.h>

#include <string>

#include "kith/kith.h"
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
