// Composed paths on CUDA, "NAME+SELECTOR": searches by every distance kernel against the oracle.
#include <algorithm>
#include <string>
#include <vector>

#include "gpu/backend.h"
#include "gpu/distance/distance_kernels.h"
#include "gpu/runtime/cublas.h"
#include "gpu/select/choice.h"
#include "matrix_path_cases.h"
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
        if (GetParam().expanded() && !gpu::products_absence().empty()) GTEST_SKIP() << gpu::products_absence();
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

}  // namespace
