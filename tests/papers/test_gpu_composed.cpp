// Composed paths on CUDA, "NAME+SELECTOR": searches by every distance kernel against the oracle.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "direct_panels.h"
#include "gpu/backend.h"
#include "gpu/select/choice.h"
#include "matrix_path_cases.h"
#include "papers/distance/cublas.h"
#include "papers/distance/distance_kernels.h"
#include "papers/gpu.h"
#include "papers/plan.h"
#include "same_answer.h"
#include "search_cases.h"

namespace {

namespace gpu = kith::gpu;
using kith::ElementType;

// One selector of each family.
const char* const some_selectors[] = {"bits",
                                      "threshold",
                                      "sampled",
                                      "radix-select",
                                      "heap-queue+buffer+hp",
                                      "merge-queue-aligned+buffer+hp",
                                      "truncated-bitonic",
                                      "warp-select",
                                      "cluster-select",
                                      "quick-multiselect",
                                      "radix-sort-streams"};

class Composed : public testing::TestWithParam<gpu::DistanceKernel> {
protected:
    void SetUp() override {
        if (GetParam().expanded() && !kith::papers::products_absence().empty())
            GTEST_SKIP() << kith::papers::products_absence();
    }
};

std::string path_of(const gpu::DistanceKernel& kernel, const std::string& selector) {
    return std::string(kernel.name) + "+" + selector;
}

std::vector<std::string> some_paths(const gpu::DistanceKernel& kernel) {
    std::vector<std::string> paths;
    for (const char* const selector : some_selectors) paths.push_back(path_of(kernel, selector));
    return paths;
}

TEST_P(Composed, EveryDataSet) {
    matrix_path_cases::every_data_set(some_paths(GetParam()), {10, 150}, [](const std::string& metric) {
        return metric == "sqeuclidean" || metric == "euclidean" || !GetParam().expanded();
    });
}

// A query so far away that the expanded form does not cover it, among others: it has its neighbours all the same.
TEST_P(Composed, OneQueryFarAway) {
    constexpr std::int64_t n = 2000, q = 20, d = 8;
    adversarial::Random random(5);
    std::vector<float> points, queries;
    for (std::int64_t i = 0; i < n * d; ++i) points.push_back(static_cast<float>(random.gaussian()));
    for (std::int64_t i = 0; i < q * d; ++i)
        queries.push_back(static_cast<float>(random.gaussian() * (i / d == 7 ? 0x1p60 : 1)));
    kith::Options cpu, cuda;
    cpu.device = "cpu";
    cuda.device = "cuda";
    cuda.path = path_of(GetParam(), "bits");
    const auto want = kith::search(kith::view(points.data(), n, d), kith::view(queries.data(), q, d), 10, cpu);
    const auto got = kith::search(kith::view(points.data(), n, d), kith::view(queries.data(), q, d), 10, cuda);
    ASSERT_TRUE(same_answer(want, got));
    if (GetParam().expanded()) {
        EXPECT_EQ(1, got.report.scanned);
        EXPECT_EQ(q - 1, got.report.certified);
    }
}

TEST_P(Composed, EverySize) {
    std::vector<search_cases::Size> sizes(std::begin(search_cases::sizes), std::end(search_cases::sizes));
    for (const std::int64_t n : {15, 17, 127, 129, 1000})
        for (const std::int64_t q : {1, 15, 127, 129})
            sizes.push_back({n, q, (sizes.size() / 4 + sizes.size()) % 2 ? n % 100 + 1 : 129, 10});
    const std::vector<const char*> metrics =
        GetParam().expanded() ? std::vector<const char*>{"sqeuclidean", "euclidean"}
                              : std::vector<const char*>{"sqeuclidean", "cityblock", "chebyshev", "minkowski"};
    std::uint64_t turn = 0;
    for (const search_cases::Size& size : sizes)
        for (const char* const metric : metrics) {
            const std::string path = path_of(GetParam(), some_selectors[++turn % std::size(some_selectors)]);
            const auto all = variants(metric, size.d, ElementType::f32);
            const auto c = search_cases::make_case(all[turn % all.size()], "lattice", size, ElementType::f32,
                                                   ElementType::f32, arrays::Shape::dense, turn);
            const auto got = search_cases::answer("cuda", c, {path, "", 0, false}, true);
            ASSERT_TRUE(got) << c.label << ", path " << path;
            ASSERT_EQ("", c.truth().difference(*got)) << c.label << ", path " << path;
        }
}

// Ordinary data are certified at once, by every selector: nothing is left to a retry or to the scan.
TEST_P(Composed, EverySelectorIsCertified) {
    const search_cases::Size size{5000, 70, 33, 12};
    const auto c = search_cases::make_case(variants("sqeuclidean", size.d, ElementType::f32).front(), "gaussian", size,
                                           ElementType::f32, ElementType::f32, arrays::Shape::dense, 3);
    const Truth truth = c.truth();
    for (const gpu::Selector& selector : gpu::selectors) {
        const std::string path = path_of(GetParam(), selector.name);
        const auto got = search_cases::answer("cuda", c, {path, "", 0, false}, true);
        ASSERT_TRUE(got) << path;
        ASSERT_EQ("", truth.difference(*got)) << path;
        EXPECT_EQ(path, got->report.path);
        EXPECT_EQ(size.q, got->report.certified) << path;
    }
}

TEST_P(Composed, TiesBeyondAList) {
    matrix_path_cases::ties_beyond_a_list(some_paths(GetParam()));
}

TEST_P(Composed, GraphAndIndex) {
    matrix_path_cases::graph_and_index(some_paths(GetParam()));
}

std::string test_name(const testing::TestParamInfo<gpu::DistanceKernel>& info) {
    std::string name = info.param.name;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}
INSTANTIATE_TEST_SUITE_P(GpuComposed, Composed, testing::ValuesIn(gpu::distance_kernels), test_name);

// Lists as selectors leave them, in any order: the smallest values, each once, with the largest threshold below which
// they lack no point. Whole numbers, of which many tie; points with a NaN among them, whose values are +inf.
class ComposedLists : public testing::TestWithParam<gpu::Selector> {
protected:
    static constexpr float infinity = std::numeric_limits<float>::infinity();

    static void check(std::int64_t n, std::int64_t wanted, std::int64_t nan_every, bool descending) {
        constexpr std::int64_t q = 5;
        adversarial::Random random(static_cast<std::uint64_t>(n + wanted));
        std::vector<float> points, half_norm(static_cast<std::size_t>(gpu::whole_tiles(n)), infinity);
        for (std::int64_t p = 0; p < n; ++p) points.push_back(std::floor(300 * static_cast<float>(random.uniform())));
        if (descending) std::sort(points.rbegin(), points.rend());
        for (std::int64_t p = 0; p < n; ++p)
            if (p % nan_every != 1) half_norm[static_cast<std::size_t>(p)] = 0;
        const std::vector<float> queries{0, 150, 1000, -7, 299};
        const auto words = [](const std::vector<float>& rows) {
            return direct_panels::on_device(direct_panels::panels(rows, std::ssize(rows), 1, 0));
        };
        const auto query_words = words(queries), point_words = words(points), h = direct_panels::on_device(half_norm);
        kith::Plan plan;
        plan.distances = "baseline";
        plan.selector = GetParam().name;
        plan.matrix_queries = 3;
        const kith::papers::MatrixTile tile{.plan = plan,
                                            .step = kith::exact::Step::cityblock,
                                            .queries = query_words.get(),
                                            .points = point_words.get(),
                                            .width = 1,
                                            .q = q,
                                            .n = n,
                                            .half_norm = h.get(),
                                            .wanted = wanted};
        const std::int64_t listed = kith::papers::listed_points(tile);
        const gpu::Buffer<gpu::Candidate> candidates(q * listed, nullptr);
        const gpu::Buffer<std::int32_t> counts(q, nullptr);
        const gpu::Buffer<float> thresholds(q, nullptr);
        const gpu::Buffer<std::uint8_t> overflowed(q, nullptr);
        kith::papers::list_candidates(tile, {.q = q,
                                             .capacity = listed,
                                             .candidates = candidates.get(),
                                             .counts = counts.get(),
                                             .threshold = thresholds.get(),
                                             .overflowed = overflowed.get()});
        const auto all = direct_panels::on_host(candidates, q * listed);
        const auto threshold = direct_panels::on_host(thresholds, q);
        EXPECT_EQ(std::vector<std::int32_t>(q, static_cast<std::int32_t>(listed)), direct_panels::on_host(counts, q));
        EXPECT_EQ(std::vector<std::uint8_t>(q), direct_panels::on_host(overflowed, q));
        for (std::int64_t i = 0; i < q; ++i) {
            std::vector<float> values;
            for (std::int64_t p = 0; p < n; ++p)
                values.push_back(std::abs(queries[static_cast<std::size_t>(i)] - points[static_cast<std::size_t>(p)]) +
                                 half_norm[static_cast<std::size_t>(p)]);
            std::vector<float> smallest = values, got;
            std::sort(smallest.begin(), smallest.end());
            smallest.resize(static_cast<std::size_t>(listed));
            std::vector<bool> seen(static_cast<std::size_t>(n));
            for (std::int64_t j = 0; j < listed; ++j) {
                const gpu::Candidate entry = all[static_cast<std::size_t>(i * listed + j)];
                ASSERT_LT(entry.point, n);
                ASSERT_EQ(values[entry.point], entry.a);
                ASSERT_FALSE(seen[entry.point]);
                seen[entry.point] = true;
                got.push_back(entry.a);
            }
            std::sort(got.begin(), got.end());
            ASSERT_EQ(smallest, got);
            ASSERT_EQ(listed == n ? infinity : std::nextafter(smallest.back(), -infinity),
                      threshold[static_cast<std::size_t>(i)]);
        }
    }
};

TEST_P(ComposedLists, AreCompleteBelowTheirThresholds) {
    for (const std::int64_t n : {33, 300, 3000})
        for (const std::int64_t wanted : {std::int64_t{1}, std::int64_t{10}, n / 2, n})
            for (const std::int64_t nan_every : {97, 2})
                for (const bool descending : {false, true}) {
                    check(n, wanted, nan_every, descending);
                    if (HasFailure()) {
                        ADD_FAILURE() << "n " << n << ", wanted " << wanted << ", NaN every " << nan_every;
                        return;
                    }
                }
}

std::string selector_test_name(const testing::TestParamInfo<gpu::Selector>& info) {
    std::string name = info.param.name;
    for (char& c : name)
        if (c == '-' || c == '+') c = '_';
    return name;
}
// A search by a selector alone is that of a kernel and it, a selector of the CPU runs there.
TEST(ComposedSelector, AsAsked) {
    for (const std::int64_t q : {1, 10, 40, 200}) {
        const search_cases::Size size{3000, q, 17, 12};
        const auto c = search_cases::make_case(variants("cityblock", size.d, ElementType::f32).front(), "lattice", size,
                                               ElementType::f32, ElementType::f32, arrays::Shape::dense, 3);
        const Truth truth = c.truth();
        kith::Options options = search_cases::options_of("cuda", c.variant, {}, true);
        const kith::Index index(c.points.view, options);
        for (const char* const selector : {"bits", "radix-select", "heap-queue+buffer", "threshold"}) {
            options.selector = selector;
            const auto got = kith::search(c.points.view, c.queries.view, c.k, options);
            ASSERT_EQ("", truth.difference(got)) << selector;
            const bool own = options.selector == "threshold";
            EXPECT_EQ(own, !got.report.path.ends_with("+" + options.selector)) << got.report.path;
            ASSERT_EQ("", truth.difference(index.search(c.queries.view, c.k, options))) << selector;
        }
        options.device = "auto";
        options.selector = "heap";
        const auto got = kith::search(c.points.view, c.queries.view, c.k, options);
        ASSERT_EQ("", truth.difference(got));
        EXPECT_EQ("exact", got.report.path);
        EXPECT_EQ(0U, got.report.device.find("cpu")) << got.report.device;
    }
}

INSTANTIATE_TEST_SUITE_P(GpuComposed, ComposedLists, testing::ValuesIn(gpu::selectors), selector_test_name);

}  // namespace
