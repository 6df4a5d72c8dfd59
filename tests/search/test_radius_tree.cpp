// radius() by a tree against the oracle and against searches for all points: adversarial data, graphs, blocks, what it
// leaves out, what it leaves to a filter.
#include "api/check/validate.h"
#include "radius_cases.h"

namespace {

using radius_cases::difference;
using search_cases::Execution;

std::vector<std::string> monotone_metrics() {
    std::vector<std::string> list;
    for (const std::string& metric : metric_names())
        if (kith::api::traits_of(kith::metric_named(metric).id).monotone) list.push_back(metric);
    return list;
}

class RadiusTree : public testing::TestWithParam<std::string> {};

TEST_P(RadiusTree, EveryDataSet) {
    const Execution executions[] = {{"tree", "", 2, false},
                                    {"tree", "baseline", 1, false},
                                    {"tree", "avx2", 3, false},
                                    {"tree", "avx512", 2, false}};
    std::uint64_t turn = GetParam().size();
    for (const std::string& data : adversarial::names()) {
        for (const std::int64_t d : {1, 2, 3, 5, 8, 9, 34}) {
            const auto type = arrays::element_types[turn % 6];
            const auto query_type = turn % 4 ? type : kith::ElementType::f64;
            const auto all = variants(GetParam(), d, type);
            const search_cases::Size size{turn % 3 ? 700 : 1500, 20, d, 1};
            const auto c = search_cases::make_case(all[turn % all.size()], data, size, type, query_type,
                                                   arrays::shapes[turn % 3], turn);
            const Execution& execution = executions[turn % std::size(executions)];
            const auto found = radius_cases::one("cpu", c, execution, turn % 2 == 0, turn % 3 == 0, turn);
            ++turn;
            if (!found && execution.isa == "avx512") continue;
            ASSERT_TRUE(found) << c.label << ", " << execution.label();
            ASSERT_EQ("", *found) << c.label << ", " << execution.label();
        }
    }
}

// Of graphs the point itself is neither listed nor counted, wherever its box lies.
TEST_P(RadiusTree, Graphs) {
    std::uint64_t turn = GetParam().size();
    for (const std::string& data : adversarial::names()) {
        const std::int64_t d = 1 + static_cast<std::int64_t>(turn % 4);
        const auto type = arrays::element_types[turn % 6];
        const auto all = variants(GetParam(), d, type);
        const auto c = search_cases::make_case(all[turn % all.size()], data, {700, 1, d, 1}, type, type,
                                               arrays::shapes[turn % 3], turn);
        const kith::Neighbors others = radius_cases::all_of(c, true);
        const bool open = turn % 2 == 0;
        const std::vector<double> radii = radius_cases::radii_on(others, false, turn);
        const kith::Radius r = radius_cases::radius_of(radii, open);
        const auto options = search_cases::options_of("cpu", c.variant, {"tree", "", 2, false}, false);
        const auto want = radius_cases::expected(others, radii, open, false, false);
        ASSERT_EQ("", difference(want, kith::radius_graph(c.points.view, r, options))) << c.label;
        ASSERT_EQ(radius_cases::counts_of(want), kith::radius_graph_counts(c.points.view, r, options).counts)
            << c.label;
        ++turn;
    }
}

INSTANTIATE_TEST_SUITE_P(Metric, RadiusTree, testing::ValuesIn(monotone_metrics()),
                         [](const auto& info) { return info.param; });

std::vector<float> uniform(std::int64_t n, std::int64_t d, std::uint64_t seed) {
    adversarial::Random random(seed);
    std::vector<float> points(static_cast<std::size_t>(n * d));
    for (float& x : points) x = static_cast<float>(random.uniform());
    return points;
}

kith::Options on_cpu() {
    kith::Options options;
    options.device = "cpu";
    options.metric = kith::MetricId::euclidean;
    options.threads = 2;
    return options;
}

// The planner takes it where it takes one for neighbours; an Index does so ahead of its queries.
TEST(RadiusByTree, IsTakenAndLooksAtFewPoints) {
    constexpr std::int64_t n = 20000, d = 3;
    const std::vector<float> points = uniform(n, d, 6);
    const kith::MatrixView view = kith::view(points.data(), n, d), one = kith::view(points.data(), 1, d);
    kith::Options options = on_cpu();
    const auto graph = kith::radius_graph(view, 0.02, options);
    EXPECT_EQ("tree", graph.report.path);
    EXPECT_EQ(n, graph.report.certified);
    EXPECT_LT(graph.report.candidates, 400.0 * n);
    EXPECT_NE("tree", kith::radius(view, one, 0.02, options).report.path);
    const kith::Index index(view, options);
    EXPECT_EQ("tree", index.radius(one, 0.02, options).report.path);
    options.memory = 1 << 20;
    EXPECT_EQ("tree", index.radius(one, 0.02, options).report.path);
    options.memory = 0;
    // Boxes that are within as a whole are counted unseen.
    const auto half = index.radius_graph_counts(0.5, options);
    EXPECT_LT(half.report.candidates, 0.5 * half.report.pairs);
    EXPECT_EQ(0, index.radius_graph_counts(2.0, options).report.candidates);
    options.path = "direct-f32";
    EXPECT_EQ("", difference(kith::radius_graph(view, 0.02, options), graph));
    EXPECT_EQ(kith::radius_graph_counts(view, 0.5, options).counts, half.counts);
}

// All points on a sphere around the queries: no box is farther than another, and a filter answers. Where that cannot
// tell them apart, the tree does.
TEST(RadiusByTree, LeavesASphereToAFilter) {
    constexpr std::int64_t n = 30000, q = 600, d = 8;
    adversarial::Random random(8);
    const std::vector<float> points = adversarial::sphere(n, d, random);
    std::vector<float> queries(q * d);
    for (float& x : queries) x = static_cast<float>(1e-3 * random.gaussian());
    const kith::MatrixView all = kith::view(points.data(), n, d), asked = kith::view(queries.data(), q, d);
    kith::Options options = on_cpu();
    options.path = "tree";
    const auto found = kith::radius(all, asked, 0.998, options);
    EXPECT_EQ(q, found.report.retried);
    ASSERT_FALSE(found.report.fallbacks.empty());
    EXPECT_NE(std::string::npos, found.report.fallbacks[0].why.find("tree")) << found.report.fallbacks[0].why;
    options.path = "exact";
    EXPECT_EQ("", difference(kith::radius(all, asked, 0.998, options), found));
}

// What a filter gives up as well is answered by the tree that there is, not by a scan.
TEST(RadiusByTree, AnswersWhatAFilterGivesUp) {
    constexpr std::int64_t n = 20000, q = 200, d = 8;
    const std::vector<float> points = adversarial::equally_long(n, d, 5), queries(q * d);
    const kith::MatrixView all = kith::view(points.data(), n, d), asked = kith::view(queries.data(), q, d);
    const double exactly = std::sqrt(4000.0);
    const auto within = [&](const char* path, double r) {
        kith::Options options = on_cpu();
        options.path = path;
        return kith::radius_counts(all, asked, r, options);
    };
    EXPECT_EQ(std::vector<std::int64_t>(q, n), within("tree", exactly).counts);
    const kith::RadiusCounts none = within("tree", std::nextafter(exactly, 0.0));
    EXPECT_EQ(std::vector<std::int64_t>(q, 0), none.counts);
    EXPECT_EQ(q, none.report.retried);
    EXPECT_EQ(0, none.report.scanned);
    EXPECT_EQ(q, within("direct-f32", std::nextafter(exactly, 0.0)).report.scanned);
}

TEST(RadiusByTree, IsCancelled) {
    constexpr std::int64_t n = 100000, d = 3;
    const std::vector<float> points = uniform(n, d, 4);
    kith::ProgressMeter::milliseconds_between = 0;
    for (const int at : {1, 5, 60}) {
        kith::Options options = on_cpu();
        options.path = "tree";
        int calls = 0;
        options.progress = [&](const kith::Progress& p) {
            EXPECT_LE(p.done, p.total);
            return ++calls < at;
        };
        try {
            kith::radius_graph_counts(kith::view(points.data(), n, d), 0.01, options);
            ADD_FAILURE() << "not cancelled at call " << at;
        } catch (const kith::Error& error) {
            EXPECT_EQ(kith::ErrorCode::cancelled, error.code());
        }
        EXPECT_EQ(at, calls);
    }
    kith::ProgressMeter::milliseconds_between = 100;
}

}  // namespace
