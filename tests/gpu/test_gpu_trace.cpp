// Plan and trace on CUDA: what runs has been planned, the first attempt is the first entry, and every query is answered
// by one attempt.
#include <cmath>

#include "filter_values.h"
#include "gpu/search/strategies.h"
#include "papers/plan.h"
#include "spectrum.h"
#include "trace_cases.h"

namespace {

using namespace kith;
using trace_cases::expect_consistent, trace_cases::expect_planned;

const trace_cases::Device device{
    "cuda", {"", "tree", "projected", "gemm-i8", "clustered", "gemm-f16", "direct-f32", "exact"}, false};

bool has_matrix_units() {
    return filter_values::instruction_sets().size() > 1;
}

const TraceEntry* entry(const Report& report, std::string_view strategy) {
    const auto found = std::ranges::find(report.trace, strategy, &TraceEntry::strategy);
    return found == report.trace.end() ? nullptr : &*found;
}

// That the strategy took queries, or was declined with a reason.
void expect_taken(const Report& report, std::string_view strategy, const std::string& what) {
    const TraceEntry* const found = entry(report, strategy);
    EXPECT_TRUE(found && found->queries > 0) << what << ", " << strategy << "\n" << explain(report);
}
void expect_declined(const Report& report, std::string_view strategy, const std::string& what) {
    const TraceEntry* const found = entry(report, strategy);
    EXPECT_TRUE(found && found->queries == 0 && !found->cause.empty()) << what << ", " << strategy << "\n"
                                                                       << explain(report);
}

class GpuPlanOfAdversarialData : public testing::TestWithParam<std::string> {};

TEST_P(GpuPlanOfAdversarialData, SaysWhatRuns) {
    trace_cases::adversarial_data(device, GetParam(), {3, 90, 400});
}

TEST_P(GpuPlanOfAdversarialData, NoopAheadChangesNoAnswer) {
    trace_cases::noop_ahead(device, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Data, GpuPlanOfAdversarialData, testing::ValuesIn(adversarial::names()),
                         [](const auto& info) { return info.param; });

class GpuPlanOfOrdinaryData : public testing::TestWithParam<std::string> {};

TEST_P(GpuPlanOfOrdinaryData, SaysWhatRuns) {
    trace_cases::ordinary_data(device, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Data, GpuPlanOfOrdinaryData, testing::ValuesIn(ordinary_cases::names()),
                         [](const auto& info) { return ordinary_cases::test_name(info.param); });

TEST(GpuTraceOfRadius, CountsEachQueryOnce) {
    trace_cases::radii({"cuda", {"", "gemm-f16", "direct-f32", "exact"}, false});
}

// Points that stream in chunks: each query is counted once for a step.
TEST(GpuTrace, OfPointsThatStreamCountsEachQueryOnce) {
    for (const char* const data : {"gaussian", "duplicates", "lattice"}) {
        const auto set = adversarial::make(data, 60000, 60, 24, 9);
        const std::vector<float> points(set.points.begin(), set.points.end()),
            queries(set.queries.begin(), set.queries.end());
        bool streamed = false;
        const Report report = trace_cases::with_least_memory(device.options("gemm-f16"), [&](const Options& options) {
            streamed = plan({set.n, 60, 24, 10}, options).chunk_points < set.n;
            return search(view(points.data(), set.n, 24), view(queries.data(), 60, 24), 10, options).report;
        });
        EXPECT_TRUE(streamed) << data;
        expect_consistent(report, false, data);
        EXPECT_EQ("gemm-f16", report.trace.at(0).strategy) << data;
        EXPECT_EQ(60, report.trace.at(0).queries) << data;
    }
}

// An Index whose sample decides for components, for int8, or for neither: the trace says so.
TEST(GpuTrace, SaysWhatASampleDecided) {
    constexpr std::int64_t n = 1 << 17, d = 256, q = 600, k = 5;
    const std::vector<double> flat(static_cast<std::size_t>(d), 1.0);
    const spectrum::Spectrum falls(n, spectrum::falling(d, 1.5), 20), even(n, flat, 21);
    const spectrum::Spectrum like_falls(q, spectrum::falling(d, 1.5), 22), like_even(q, flat, 23);
    Shape shape{n, q, d, k};
    shape.prepared = true;
    const Plan planned = plan(shape, device.options());
    const auto found = [&](const spectrum::Spectrum& points, const spectrum::Spectrum& queries) {
        const Index index(points.view(), device.options());
        const Report report = index.search(queries.view(), k, device.options()).report;
        expect_planned(planned, report, device, true, "index");
        return report;
    };
    const Report components = found(falls, like_falls), int8 = found(even, like_even);
    expect_taken(components, "projected", "falling");
    expect_declined(int8, "projected", "even");
    if (has_matrix_units()) expect_taken(int8, "gemm-i8", "even");
}

// An Index whose points have no clusters takes int8, which the plan names; a forced path takes the clusters.
TEST(GpuTrace, SaysWhetherThereAreClusters) {
    if (!has_matrix_units()) GTEST_SKIP() << "needs compute capability 9.0";
    constexpr std::int64_t n = 1 << 18, d = 64, q = 1024, k = 10;
    const spectrum::Spectrum even(n, std::vector<double>(static_cast<std::size_t>(d), 1.0), 24);
    const MatrixView queries = view(even.rows.data(), q, d);
    Shape shape{n, q, d, k};
    shape.prepared = true;
    const Plan planned = plan(shape, device.options());
    ASSERT_EQ(Path::clustered, planned.path);
    const Report plain = Index(even.view(), device.options()).search(queries, k, device.options()).report;
    expect_planned(planned, plain, device, true, "no clusters");
    expect_declined(plain, "clustered", "no clusters");
    const Options forced = device.options("clustered");
    const Report clustered = search(even.view(), queries, k, forced).report;
    expect_planned(plan({n, q, d, k}, forced), clustered, device, true, "forced");
    EXPECT_EQ("clustered", clustered.path);
}

// Very few queries, a graph whose tiles serve both of their sides, and a tree.
TEST(GpuTrace, OfFewQueriesGraphsAndTrees) {
    constexpr std::int64_t n = 1 << 18, d = 64;
    const spectrum::Spectrum points(n, spectrum::falling(d, 0.2), 25);
    const MatrixView few = view(points.rows.data(), 2, d);
    const Options products = device.options("gemm-f16");  // of points that are not prepared a scan takes less
    const Report values = search(points.view(), few, 10, products).report;
    expect_planned(plan({n, 2, d, 10}, products), values, device, true, "few");
    EXPECT_EQ("dense", values.trace.at(0).strategy);
    const Report edges = graph(points.view(), 5, device.options()).report;
    expect_planned(plan({n, n, d, 5, ElementType::f32, true}, device.options()), edges, device, true, "graph");
    if (has_matrix_units()) {
        EXPECT_EQ("symmetric", edges.trace.at(0).strategy);
    }
    const spectrum::Spectrum flat(n, {1.0, 1.0, 1.0}, 26);
    const Report near = graph(flat.view(), 5, device.options()).report;
    expect_planned(plan({n, n, 3, 5, ElementType::f32, true}, device.options()), near, device, true, "tree");
    expect_taken(near, "tree", "tree");
}

TEST(GpuTrace, OfPathsOfThePapers) {
    if (!papers::built()) GTEST_SKIP() << papers::not_built;
    const auto set = adversarial::make("gaussian", 3000, 50, 16, 10);
    const std::vector<float> points(set.points.begin(), set.points.end()),
        queries(set.queries.begin(), set.queries.end());
    for (const char* const path : {"kuang-zhao+bits", "hanak-fused", "hanak-rule"}) {
        const Options options = device.options(path);
        const Report report = search(view(points.data(), set.n, 16), view(queries.data(), 50, 16), 10, options).report;
        expect_planned(plan({set.n, 50, 16, 10}, options), report, device, true, path);
        EXPECT_EQ("papers", report.trace.at(0).strategy) << path;
    }
}

}  // namespace
