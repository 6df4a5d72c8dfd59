// Composed paths on CUDA, "NAME+SELECTOR": distance kernels within the bound of the direct filter, searches against the
// oracle.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "gpu/distance/distance.h"
#include "gpu/filter/direct.h"
#include "gpu/runtime/device_memory.h"
#include "gpu/select/choice.h"
#include "gpu_arrays.h"
#include "same_answer.h"
#include "search_cases.h"

namespace {

namespace exact = kith::exact;
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

class Composed : public testing::TestWithParam<gpu::DistanceKernel> {};

std::string path_of(const gpu::DistanceKernel& kernel, const std::string& selector) {
    return std::string(kernel.name) + "+" + selector;
}

template <class T>
gpu::Buffer<T> on_device(const std::vector<T>& values) {
    gpu::Buffer<T> out(std::ssize(values), nullptr);
    gpu_arrays::check(cudaMemcpy(out.get(), values.data(), values.size() * sizeof(T), cudaMemcpyDefault));
    return out;
}

// Rows in panels of words, whole ones.
std::vector<float> panels(const std::vector<float>& rows, std::int64_t count, std::int64_t d) {
    std::vector<float> words(static_cast<std::size_t>(gpu::whole_tiles(count) * d));
    for (std::int64_t row = 0; row < count; ++row)
        for (std::int64_t i = 0; i < d; ++i)
            words[static_cast<std::size_t>(gpu::direct_place(row, i, d))] = rows[static_cast<std::size_t>(row * d + i)];
    return words;
}

double value_of(exact::Step step, const float* q, const float* x, std::int64_t d) {
    double value = 0;
    for (std::int64_t i = 0; i < d; ++i) {
        const double apart = std::abs(static_cast<double>(q[i]) - static_cast<double>(x[i]));
        value = step == exact::Step::squares     ? value + apart * apart
                : step == exact::Step::cityblock ? value + apart
                                                 : std::max(value, apart);
    }
    return value;
}

// Rows that fill no tile, widths that fill no slice, a first query within a panel; NaN points, points that are not
// covered, sums that overflow.
TEST_P(Composed, ValuesAreWithinTheBound) {
    constexpr std::int64_t all_queries = 203, first = 37, n = 261;
    constexpr float infinity = std::numeric_limits<float>::infinity(), most = std::numeric_limits<float>::max();
    for (const std::int64_t d : {1, 15, 16, 17, 33, 100})
        for (const auto step : {exact::Step::squares, exact::Step::cityblock, exact::Step::chebyshev}) {
            adversarial::Random random(static_cast<std::uint64_t>(d));
            const auto draw = [&](std::int64_t count) {
                std::vector<float> rows;
                for (std::int64_t i = 0; i < count * d; ++i) rows.push_back(static_cast<float>(random.gaussian()));
                return rows;
            };
            const std::vector<float> queries = draw(all_queries);
            std::vector<float> points = draw(n), half_norms(static_cast<std::size_t>(n));
            half_norms[3] = infinity;
            half_norms[4] = -infinity;
            for (std::int64_t i = 0; i < d; ++i) {
                points[static_cast<std::size_t>(4 * d + i)] = std::numeric_limits<float>::quiet_NaN();
                points[static_cast<std::size_t>(5 * d + i)] = 1e38f;
            }
            const auto query_words = on_device(panels(queries, all_queries, d)),
                       point_words = on_device(panels(points, n, d)), h = on_device(half_norms);
            constexpr std::int64_t q = all_queries - first;
            const gpu::Buffer<float> values(q * n, nullptr);
            gpu::distance_matrix(GetParam().name, {.step = step,
                                                   .queries = query_words.get(),
                                                   .points = point_words.get(),
                                                   .half_norm = h.get(),
                                                   .width = d,
                                                   .first_query = first,
                                                   .q = q,
                                                   .n = n,
                                                   .values = values.get()});
            std::vector<float> got(static_cast<std::size_t>(q * n));
            gpu_arrays::check(cudaMemcpy(got.data(), values.get(), got.size() * sizeof(float), cudaMemcpyDefault));
            const double g = (static_cast<double>(d) + 8) * 0x1p-24;
            for (std::int64_t i = 0; i < q; ++i)
                for (std::int64_t p = 0; p < n; ++p) {
                    const float value = got[static_cast<std::size_t>(i * n + p)];
                    const double want = value_of(step, queries.data() + (first + i) * d, points.data() + p * d, d);
                    if (p == 3) ASSERT_EQ(infinity, value);
                    else if (p == 4) ASSERT_EQ(-infinity, value);
                    else if (want * (1 - g) > most) ASSERT_EQ(most, value) << "d " << d << ", point " << p;
                    else ASSERT_NEAR(want, value, g * want) << "d " << d << ", query " << i << ", point " << p;
                }
        }
}

// Selectors and metrics take turns through every data set; small memory cuts queries and points.
TEST_P(Composed, EveryDataSet) {
    std::uint64_t turn = 0;
    for (const std::string& data : adversarial::names())
        for (const char* const metric : {"sqeuclidean", "euclidean", "cityblock", "chebyshev", "seuclidean"}) {
            const std::string selector = some_selectors[++turn % std::size(some_selectors)];
            const ElementType type = arrays::element_types[turn % 6];
            const search_cases::Size size{3000, 50, turn % 2 ? 16 : 67, turn / 2 % 2 ? 10 : 150};
            const auto all = variants(metric, size.d, type);
            const auto c = search_cases::make_case(all[turn / 4 % all.size()], data, size, type, type,
                                                   arrays::shapes[turn % 3], turn);
            const std::string path = path_of(GetParam(), selector);
            const auto got = search_cases::answer("cuda", c, {path, "", 0, turn % 5 == 0}, turn % 2);
            if (!got) continue;
            ASSERT_EQ("", c.truth().difference(*got)) << c.label << ", path " << path;
            EXPECT_EQ(path, got->report.path) << c.label;
            EXPECT_EQ(size.q, got->report.certified + got->report.retried + got->report.scanned) << c.label;
        }
}

TEST_P(Composed, EverySize) {
    std::uint64_t turn = 0;
    for (const search_cases::Size& size : search_cases::sizes)
        for (const char* const metric : {"sqeuclidean", "chebyshev"}) {
            const std::string path = path_of(GetParam(), some_selectors[++turn % std::size(some_selectors)]);
            const auto c = search_cases::make_case(variants(metric, size.d, ElementType::f32).front(), "lattice", size,
                                                   ElementType::f32, ElementType::f32, arrays::Shape::dense, turn);
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

// Many more points alike than a list holds: the first by id, whichever the selector takes.
TEST_P(Composed, TiesBeyondAList) {
    constexpr std::int64_t n = 4000, q = 9, d = 4;
    std::vector<float> points(static_cast<std::size_t>(n * d)), queries(static_cast<std::size_t>(q * d), 0.25f);
    for (std::int64_t i = 0; i < n * d; ++i) points[static_cast<std::size_t>(i)] = i / d % 3 ? 1.0f : 2.0f;
    kith::Options cpu, cuda;
    cpu.device = "cpu";
    cuda.device = "cuda";
    for (const char* const selector : some_selectors) {
        cuda.path = path_of(GetParam(), selector);
        const auto want = kith::search(kith::view(points.data(), n, d), kith::view(queries.data(), q, d), 20, cpu);
        const auto got = kith::search(kith::view(points.data(), n, d), kith::view(queries.data(), q, d), 20, cuda);
        ASSERT_TRUE(same_answer(want, got)) << cuda.path;
    }
}

TEST_P(Composed, GraphAndIndex) {
    const auto c =
        search_cases::make_case(variants("euclidean", 21, ElementType::f32).front(), "duplicates", {900, 30, 21, 9},
                                ElementType::f32, ElementType::f32, arrays::Shape::dense, 8);
    const Truth near = c.truth(), among(c.variant.name, c.variant.params, c.points.view, {}, 9, true);
    for (const char* const selector : some_selectors) {
        const kith::Options options =
            search_cases::options_of("cuda", c.variant, {path_of(GetParam(), selector), "", 0, false}, true);
        ASSERT_EQ("", among.difference(kith::graph(c.points.view, 9, options))) << options.path;
        const kith::Index index(c.points.view, options);
        ASSERT_EQ("", near.difference(index.search(c.queries.view, 9, options))) << options.path;
    }
}

std::string test_name(const testing::TestParamInfo<gpu::DistanceKernel>& info) {
    std::string name = info.param.name;
    for (char& c : name)
        if (c == '-') c = '_';
    return name;
}
INSTANTIATE_TEST_SUITE_P(GpuComposed, Composed, testing::ValuesIn(gpu::distance_kernels), test_name);

}  // namespace
