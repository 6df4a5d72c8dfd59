// The path "tree" against the oracle: adversarial data in few and in many dimensions, and how much it leaves out.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "api/check/validate.h"
#include "exact/report/progress.h"
#include "search_cases.h"

namespace {

using search_cases::Execution;

class TreeSearch : public testing::TestWithParam<std::string> {};

std::vector<std::string> monotone_metrics() {
    std::vector<std::string> list;
    for (const std::string& metric : metric_names())
        if (kith::api::traits_of(kith::metric_named(metric).id).monotone) list.push_back(metric);
    return list;
}

const std::vector<Execution> executions = {{"tree", "", 2, false},
                                           {"tree", "baseline", 1, false},
                                           {"tree", "avx2", 3, true},
                                           {"tree", "avx512", 2, false},
                                           {"tree", "", 1, true}};

TEST_P(TreeSearch, AnswersAsTheOracle) {
    search_cases::in_dimensions(GetParam(), {1, 2, 3, 5, 8, 9, 34}, {900, 60, 0, 0}, {3000, 60, 0, 0}, executions);
}

TEST_P(TreeSearch, GraphsAsTheOracle) {
    std::uint64_t turn = GetParam().size();
    for (const std::string& data : adversarial::names()) {
        const std::int64_t d = 1 + static_cast<std::int64_t>(turn % 9);
        const auto type = arrays::element_types[turn % 6];
        const auto all = variants(GetParam(), d, type);
        const auto c = search_cases::make_case(all[turn % all.size()], data, {500, 1, d, turn % 2 ? 5 : 60}, type, type,
                                               arrays::shapes[turn % 3], turn);
        const Truth truth(c.variant.name, c.variant.params, c.points.view, {}, c.k, true);
        kith::Options options = search_cases::options_of("cpu", c.variant, {"tree", "", 2, false}, turn % 5 == 0);
        ASSERT_EQ("", truth.difference(kith::graph(c.points.view, c.k, options))) << c.label;
        const kith::Index index(c.points.view, options);
        ASSERT_EQ("", truth.difference(index.graph(c.k, options))) << c.label;
        ++turn;
    }
}

INSTANTIATE_TEST_SUITE_P(Metric, TreeSearch, testing::ValuesIn(monotone_metrics()),
                         [](const auto& info) { return info.param; });

kith::Options tree_options() {
    kith::Options options;
    options.metric = kith::MetricId::euclidean;
    options.device = "cpu";
    options.path = "tree";
    options.threads = 2;
    return options;
}

// Distance keys of each query of a graph.
double looked_at(const std::vector<float>& points, std::int64_t n, std::int64_t d, std::int64_t k) {
    const kith::Neighbors found = kith::graph(kith::view(points.data(), n, d), k, tree_options());
    return found.report.candidates / static_cast<double>(n);
}

// Ties are decided by the ids of whole boxes: where all points are equal, or few values occur, most are left out.
TEST(TreeTies, LeaveOutBoxesOfLargerIds) {
    constexpr std::int64_t n = 30000, d = 3, k = 10;
    EXPECT_LT(looked_at(std::vector<float>(n * d, 0.25f), n, d, k), 1000);
    std::vector<float> few(n * d), lattice(n * d);
    for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < d; ++j) few[i * d + j] = static_cast<float>((i * 2654435761 >> (j + 8)) % 2);
        lattice[i * d] = static_cast<float>(i % 31);
        lattice[i * d + 1] = static_cast<float>(i / 31 % 31);
        lattice[i * d + 2] = static_cast<float>(i / 961 % 31);
    }
    EXPECT_LT(looked_at(few, n, d, k), 2000);
    EXPECT_LT(looked_at(lattice, n, d, k), 1000);
    // Infinite coordinates: all points at the same, infinite distance.
    std::vector<float> far(n * d, std::numeric_limits<float>::infinity());
    EXPECT_LT(looked_at(far, n, d, k), 1000);
}

TEST(TreeSearchOfFew, LooksAtFewPoints) {
    constexpr std::int64_t n = 50000;
    adversarial::Random random(3);
    for (const std::int64_t d : {1, 2, 3}) {
        std::vector<float> points(static_cast<std::size_t>(n * d));
        for (float& x : points) x = static_cast<float>(random.uniform());
        EXPECT_LT(looked_at(points, n, d, 10), 400) << d;
        points[0] = 1e30f;  // one far outlier
        EXPECT_LT(looked_at(points, n, d, 10), 500) << d;
    }
}

TEST(TreeSearchOfFew, IsCancelled) {
    constexpr std::int64_t n = 100000, d = 3;
    adversarial::Random random(4);
    std::vector<float> points(n * d);
    for (float& x : points) x = static_cast<float>(random.uniform());
    kith::ProgressMeter::milliseconds_between = 0;
    int calls = 0;
    for (const int at : {1, 5, 60}) {
        kith::Options options = tree_options();
        calls = 0;
        options.progress = [&](const kith::Progress&) { return ++calls < at; };
        try {
            kith::graph(kith::view(points.data(), n, d), 5, options);
            ADD_FAILURE() << "not cancelled at call " << at;
        } catch (const kith::Error& error) {
            EXPECT_EQ(kith::ErrorCode::cancelled, error.code());
        }
        EXPECT_EQ(at, calls);
    }
    kith::ProgressMeter::milliseconds_between = 100;
}

// All points on a sphere around the queries: no box is farther than another, and a filter answers.
TEST(TreeSearchOfFew, LeavesASphereToAFilter) {
    constexpr std::int64_t n = 30000, q = 400, d = 8, k = 10;
    adversarial::Random random(8);
    const std::vector<float> points = adversarial::sphere(n, d, random);
    std::vector<float> queries(q * d);
    for (float& x : queries) x = static_cast<float>(1e-3 * random.gaussian());
    const kith::MatrixView all = kith::view(points.data(), n, d), asked = kith::view(queries.data(), q, d);
    for (const kith::MetricId metric : {kith::MetricId::euclidean, kith::MetricId::seuclidean}) {
        kith::Options options = tree_options();
        options.metric = metric;
        const kith::Neighbors found = kith::search(all, asked, k, options);
        EXPECT_EQ(q, found.report.retried + found.report.scanned);
        ASSERT_FALSE(found.report.fallbacks.empty());
        EXPECT_NE(std::string::npos, found.report.fallbacks[0].why.find("tree")) << found.report.fallbacks[0].why;
        options.path = "exact";
        const kith::Neighbors expected = kith::search(all, asked, k, options);
        EXPECT_EQ(expected.ids, found.ids);
        EXPECT_EQ(expected.distances, found.distances);
    }
}

// What the filter gives up as well is answered by the tree that there is, not by a scan.
TEST(TreeSearchOfFew, AnswersWhatAFilterGivesUp) {
    constexpr std::int64_t n = 20000, q = 300, d = 8, k = 10;
    const std::vector<float> points = adversarial::equally_long(n, d, 5);
    const std::vector<float> queries(q * d);
    const kith::MatrixView all = kith::view(points.data(), n, d), asked = kith::view(queries.data(), q, d);
    kith::Options options = tree_options();
    const kith::Neighbors found = kith::search(all, asked, k, options);
    EXPECT_EQ(q, found.report.retried);
    EXPECT_EQ(0, found.report.scanned);
    const kith::Index index(all, options);
    options.path = "exact";
    EXPECT_EQ(kith::search(all, asked, k, options).ids, found.ids);
    // Of an Index whichever filter was asked for.
    options.path = "gemm-f32";
    EXPECT_EQ(0, index.search(asked, k, options).report.scanned);
    EXPECT_EQ(found.ids, index.search(asked, k, options).ids);
    // Coordinates that f32 does not hold have no filter at all.
    std::vector<double> far(points.begin(), points.end()), centre(q * d);
    for (double& x : far) x *= 0x1p200;
    options = tree_options();
    options.metric = kith::MetricId::cityblock;
    const kith::MatrixView beyond = kith::view(far.data(), n, d), zeros = kith::view(centre.data(), q, d);
    const kith::Neighbors away = kith::search(beyond, zeros, k, options);
    EXPECT_EQ(0, away.report.scanned);
    options.path = "exact";
    EXPECT_EQ(kith::search(beyond, zeros, k, options).ids, away.ids);
}

// The planner takes it for searches of few dimensions; an Index does so ahead of its queries.
TEST(TreePlan, IsTakenForFewDimensions) {
    constexpr std::int64_t n = 20000, d = 3;
    adversarial::Random random(6);
    std::vector<float> points(n * d);
    for (float& x : points) x = static_cast<float>(random.uniform());
    kith::Options options = tree_options();
    options.path.clear();
    const kith::MatrixView view = kith::view(points.data(), n, d);
    EXPECT_EQ("tree", kith::graph(view, 10, options).report.path);
    const kith::Index index(view, options);
    const kith::MatrixView one = kith::view(points.data(), 1, d);
    const kith::Neighbors found = index.search(one, 10, options);
    EXPECT_EQ("tree", found.report.path);
    EXPECT_LT(found.report.candidates, 2000);
    EXPECT_NE("tree", kith::search(view, one, 10, options).report.path);
    // The tree is there, whatever memory is left.
    options.memory = 1 << 20;
    EXPECT_EQ("tree", index.search(one, 10, options).report.path);
    EXPECT_EQ(found.ids, index.search(one, 10, options).ids);
    EXPECT_NE("tree", kith::graph(view, 10, options).report.path);
    options.memory = 0;
    const kith::Neighbors most = index.search(one, n / 2, options);
    options.path = "exact";
    EXPECT_EQ(most.ids, index.search(one, n / 2, options).ids);
    EXPECT_EQ(found.ids, index.search(one, 10, options).ids);
}

}  // namespace
