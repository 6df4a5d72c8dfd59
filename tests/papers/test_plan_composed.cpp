// Plans of composed paths, "NAME+SELECTOR", on imaginary machines: what is chosen, refused, and kept within budgets.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "gpu/filter/levels.h"
#include "gpu/select/choice.h"
#include "gpu/select/selectors.h"
#include "papers/distance/distance_kernels.h"
#include "papers/distance/tuning.h"
#include "papers/plan/hanak_rule.h"
#include "plan/planner.h"
#include "plan_cases.h"

namespace {

using kith::metric::Direct;
using namespace plan_cases;

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

// A search reports and can be cancelled between tiles: slower kernels have smaller ones.
TEST(ComposedPlan, TilesAreAPollApart) {
    const kith::Shape many{1 << 20, 1 << 20, 128, 10, kith::ElementType::f32, false};
    const kith::Plan direct = kith::planner::make(of("direct-f32", many), with_gpu()),
                     composed = kith::planner::make(of("baseline+bits", many), with_gpu());
    EXPECT_GE(direct.query_tile, 8 * composed.query_tile);
    EXPECT_GE(composed.query_tile, 128);
    EXPECT_LE(composed.matrix_queries, composed.query_tile);
    // What is over soon is one tile.
    EXPECT_EQ(4096, kith::planner::make(of("baseline+bits", {1 << 18, 4096, 64, 10, kith::ElementType::f32, false}),
                                        with_gpu())
                        .query_tile);
}

// What a selector takes of each value counts with the matrix.
double row_bytes(const kith::Plan& p, const char* selector) {
    const kith::gpu::Selector& of = *kith::gpu::find_selector(selector);
    const double copies = of.layout == kith::gpu::SelectLayout::by_column ? 8 : 4;
    return static_cast<double>(p.chunk_points) * (copies + static_cast<double>(of.per_value));
}

// However much memory there is: whole panels of queries within the largest matrix, at least one.
TEST(ComposedPlan, MatricesHaveASize) {
    constexpr std::int64_t panel = kith::gpu::filter_tile_queries;
    const double most = kith::gpu::tuning::most_matrix_bytes;
    for (const char* const selector : {"bits", "truncated-bitonic", "radix-sort-streams"})
        for (const std::int64_t n : {std::int64_t{1} << 16, std::int64_t{1} << 20, std::int64_t{1} << 21,
                                     std::int64_t{1} << 22, (std::int64_t{1} << 23) + 77}) {
            const kith::Plan p = kith::planner::make(
                of(std::string("register-tiled+") + selector, {n, 1 << 16, 16, 10, kith::ElementType::f32, false}),
                with_gpu());
            const double each = row_bytes(p, selector);
            EXPECT_EQ(n, p.chunk_points);
            EXPECT_GE(p.matrix_queries, std::min(panel, p.query_tile)) << n;
            EXPECT_LE(static_cast<double>(p.matrix_queries) * each, std::max(most, static_cast<double>(panel) * each))
                << n;
            if (p.matrix_queries < p.query_tile) {
                EXPECT_EQ(0, p.matrix_queries % panel) << n;
                EXPECT_GT(static_cast<double>(p.matrix_queries + panel) * each, most) << n;
            }
        }
    // Of the papers' searches: Hanak 2023, Fig. 5.8 and 5.9. Tiles are whole matrices, and the plan says how many
    // queries they have.
    const kith::Shape hanak{1 << 21, 2048, 16, 16, kith::ElementType::f32, false};
    const kith::Plan p = kith::planner::make(of("register-tiled+bits", hanak), with_gpu());
    EXPECT_EQ(256, p.matrix_queries);
    EXPECT_EQ(1280, p.query_tile);
    EXPECT_NE(std::string::npos, p.why.find("tiles of 1280 queries")) << p.why;
}

// The distance kernels serve what the direct filter does.
TEST(ComposedPlan, EveryDirectForm) {
    for (const kith::gpu::DistanceKernel& kernel : kith::gpu::distance_kernels)
        for (const Direct form :
             {Direct::squares, Direct::sum, Direct::maximum, Direct::powers, Direct::quotients, Direct::quotient,
              Direct::mismatches, Direct::jaccard, Direct::dice, Direct::divergence}) {
            if (kernel.expanded() && form != Direct::squares) continue;
            const kith::Plan p = kith::planner::make(of(kernel.name + std::string("+bits"), form), with_gpu());
            EXPECT_EQ(kernel.name, p.distances);
            EXPECT_EQ(kith::Path::direct_f32, p.path);
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
    for (const kith::gpu::DistanceKernel& kernel : kith::gpu::distance_kernels)
        refused(of(kernel.name + std::string("+bits"), Direct::none), gpu,
                kernel.expanded() ? "squared differences alone" : "direct form");
    refused(of("cublas+bits", Direct::sum), gpu, "squared differences alone");
    Request user = of("register-tiled+bits");
    user.metric.user = true;
    refused(user, gpu, "built-in");
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

// Hanak 2023, 5.6, row by row; what a selector cannot list goes to the next one.
TEST(HanakRule, Selectors) {
    using kith::planner::RuleCase;
    const auto name = [](const RuleCase& c) { return kith::planner::select_by_rule(c).name; };
    const auto of_k = [&](std::int64_t n, std::int64_t k) { return name({n, 1000, 64, k, k}); };
    EXPECT_EQ("bits", of_k(1 << 20, 1));
    EXPECT_EQ("bits", of_k(1 << 20, 2048));
    EXPECT_EQ("bits-global", of_k(1 << 20, 2049));
    EXPECT_EQ("bits-global", of_k(1 << 20, 4096));
    EXPECT_EQ("sample-select-1", of_k(1 << 20, 4097));
    EXPECT_EQ("sample-select-1", of_k(100000, 4097));
    EXPECT_EQ("radix-select", of_k(99999, 4097));
    EXPECT_EQ("bits-global", of_k(99999, 4096));
    EXPECT_EQ("bits-global", name({1 << 20, 1000, 64, 2000, 2282}));
}

std::string first_path(const std::string& path, std::int64_t n, std::int64_t q, std::int64_t d, std::int64_t k) {
    return kith::planner::by_hanak_rule(path, {n, q, d, k, k}).front().path;
}

TEST(HanakRule, Distances) {
    const auto path = [](std::int64_t q, std::int64_t d) { return first_path("hanak-rule", 1 << 20, q, d, 10); };
    EXPECT_EQ("baseline+bits", path(1, 1000));
    EXPECT_EQ("kuang-zhao+bits", path(2, 16));
    EXPECT_EQ("kuang-zhao+bits", path(127, 1000));
    // What there always is ends the list, whatever the metric is.
    for (const std::int64_t q : {1, 128, 10000})
        for (const std::int64_t d : {1, 128, 129, 4096})
            EXPECT_EQ("kuang-zhao+bits",
                      kith::planner::by_hanak_rule("hanak-rule", {1 << 20, q, d, 10, 10}).back().path);
}

// Each row of the table, at both ends of its range, in its order.
TEST(HanakRule, EveryRowOfTheDistances) {
    const auto kernels = [](std::int64_t q, std::int64_t d) {
        std::string names;
        for (const auto& ruled : kith::planner::by_hanak_rule("hanak-rule", {1 << 20, q, d, 100, 100})) {
            names += ruled.path.substr(0, ruled.path.find('+'));
            names += ' ';
        }
        return names;
    };
    EXPECT_EQ("baseline kuang-zhao register-tiled cublas register-tiled kuang-zhao ", kernels(1, 128));
    EXPECT_EQ("baseline kuang-zhao cublas register-tiled kuang-zhao ", kernels(1, 129));
    for (const std::int64_t q : {2, 127}) {
        EXPECT_EQ("kuang-zhao register-tiled cublas register-tiled kuang-zhao ", kernels(q, 128));
        EXPECT_EQ("kuang-zhao cublas register-tiled kuang-zhao ", kernels(q, 129));
    }
    for (const std::int64_t q : {128, 100000}) {
        EXPECT_EQ("register-tiled cublas register-tiled kuang-zhao ", kernels(q, 1));
        EXPECT_EQ("register-tiled cublas register-tiled kuang-zhao ", kernels(q, 128));
        EXPECT_EQ("cublas register-tiled kuang-zhao ", kernels(q, 129));
    }
}

// A row whose kernel does not serve the metric is passed over.
TEST(HanakRule, OtherMetricsGoPastTheProducts) {
    Request r = of("hanak-rule", {1 << 18, 200, 256, 10, kith::ElementType::f32, false});
    r.metric.traits.direct = kith::metric::Direct::sum;
    EXPECT_EQ("register-tiled+bits", kith::path_name(kith::planner::make(r, with_gpu())));
}

TEST(HanakRule, PathsAreThoseOfTheRows) {
    struct Expected {
        std::string path;
        std::int64_t n, q, d, k;
        std::string chosen;
    };
    for (const Expected& e : {Expected{"hanak-rule", 1 << 18, 1, 32, 64, "baseline+bits"},
                              {"hanak-rule", 1 << 18, 100, 32, 64, "kuang-zhao+bits"},
                              {"baseline+hanak-rule", 1 << 18, 8000, 32, 64, "baseline+bits"},
                              {"kuang-zhao+hanak-rule", 1 << 18, 1, 64, 3000, "kuang-zhao+bits-global"},
                              {"kuang-zhao+hanak-rule", 1 << 16, 1, 64, 9000, "kuang-zhao+radix-select"}}) {
        EXPECT_EQ(e.chosen, first_path(e.path, e.n, e.q, e.d, e.k));
        const kith::Plan p =
            kith::planner::make(of(e.path, {e.n, e.q, e.d, e.k, kith::ElementType::f32, false}), with_gpu());
        EXPECT_EQ(e.chosen, kith::path_name(p));
        EXPECT_NE(std::string::npos, p.why.find("path " + e.path + ": ")) << p.why;
    }
    // The fused kernel's range, and by one outside of it in each.
    const std::string fused(kith::planner::fused_rule.name);
    EXPECT_EQ(fused, first_path("hanak-rule", 1 << 18, 8000, 32, 64));
    for (const auto& [q, d, k] : {std::array{7999, 32, 64}, {8000, 33, 64}, {8000, 32, 65}})
        EXPECT_NE(fused, first_path("hanak-rule", 1 << 18, q, d, k));
}

// A rule's plan is that of the path it names, whatever the shape; k that a selector could not prove go to the next.
TEST(HanakRule, EveryShapeHasAPlan) {
    for (const std::int64_t n : {1, 50, 5000, 99999, 1 << 18})
        for (const std::int64_t q : {1, 64, 9000})
            for (const std::int64_t k : {1, 64, 1800, 2047, 2048, 4096, 12000}) {
                if (k > n) continue;
                const kith::Plan p =
                    kith::planner::make(of("hanak-rule", {n, q, 16, k, kith::ElementType::f32, false}), with_gpu());
                if (p.selector.empty()) continue;  // the fused kernel
                const kith::gpu::Selector* const selector = kith::gpu::find_selector(p.selector);
                ASSERT_TRUE(selector) << p.selector;
                EXPECT_TRUE(selector->max_k == 0 || selector->max_k >= kith::gpu::listed_points(n, k, 0))
                    << p.selector << ", k " << k;
            }
}

TEST(HanakRule, RefusesWhatItsPathsCannotServe) {
    for (const char* const path : {"hanak-rule", "kuang-zhao+hanak-rule"}) {
        Request r = of(path);
        r.device = "cpu";
        refused(r, with_gpu(), "runs on one GPU");
        refused(of(path, Direct::none), with_gpu(), "direct form");
    }
    refused(of("nothing+bits"), with_gpu(), "no distance kernel");
    EXPECT_THROW(kith::planner::make(of("nothing+hanak-rule"), with_gpu()), kith::Error);
    EXPECT_THROW(kith::planner::make(of("+hanak-rule"), with_gpu()), kith::Error);
}

}  // namespace
