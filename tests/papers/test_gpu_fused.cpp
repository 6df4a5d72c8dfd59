// Fused paths on CUDA, "hanak-fused": the kernels' lists against all values, searches against the oracle and the bits
// of path exact.
#include "papers/fused/fused.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "direct_panels.h"
#include "exact/order.h"
#include "gpu/filter/direct/direct.h"
#include "gpu_arrays.h"
#include "matrix_path_cases.h"
#include "same_answer.h"
#include "search_cases.h"

namespace {

namespace exact = kith::exact;
namespace gpu = kith::gpu;
using direct_panels::on_device;
using kith::ElementType;

constexpr std::int64_t any_lists = std::numeric_limits<std::int64_t>::max();

class Fused : public testing::TestWithParam<gpu::FusedKernel> {};

// Rows in panels of words, whole ones.
std::vector<float> panels(const std::vector<float>& rows, std::int64_t count, std::int64_t d) {
    return direct_panels::panels(rows, count, d, 0);
}

constexpr float exponent = 2.5f;  // of Step::powers

// Exact of small whole numbers, but of powers.
float value_of(exact::Step step, const float* q, const float* x, std::int64_t d, float half_norm) {
    const auto sum = [&](auto term) {
        double value = 0;
        for (std::int64_t i = 0; i < d; ++i) value += term(std::abs(static_cast<double>(q[i] - x[i])));
        return static_cast<float>(value) + half_norm;
    };
    switch (step) {
        case exact::Step::squares:
            return sum([](double apart) { return apart * apart; });
        case exact::Step::cityblock:
            return sum([](double apart) { return apart; });
        case exact::Step::cubes:
            return sum([](double apart) { return apart * apart * apart; });
        case exact::Step::fourths:
            return sum([](double apart) { return apart * apart * apart * apart; });
        case exact::Step::powers:
            return sum([](double apart) { return std::pow(apart, static_cast<double>(exponent)); });
        default: {
            float value = 0;
            for (std::int64_t i = 0; i < d; ++i) value = std::max(value, std::abs(q[i] - x[i]));
            return value + half_norm;
        }
    }
}

// What a kernel's value may differ by: nothing, but of powers what the direct filter's bound has for it.
float error_of(exact::Step step, float value, std::int64_t d) {
    if (step != exact::Step::powers || std::isinf(value)) return 0;
    return value * (exponent * 0x1p-17f + 0x1p-15f + static_cast<float>(d + 8) * 0x1p-24f) + 1e-30f;
}

struct Lists {
    std::int64_t n, q, d;
    std::vector<float> points, queries, half_norm;

    Lists(std::int64_t n_, std::int64_t q_, std::int64_t d_) : n(n_), q(q_), d(d_) {
        adversarial::Random random(static_cast<std::uint64_t>(n + 31 * q + 977 * d));
        const auto draw = [&](std::vector<float>& to, std::int64_t count) {
            for (std::int64_t i = 0; i < count; ++i)
                to.push_back(static_cast<float>(std::floor(20 * random.uniform())));
        };
        draw(points, n * d);
        draw(queries, q * d);
        // Points with a NaN, and such as the bound does not cover; padding.
        half_norm.assign(static_cast<std::size_t>(gpu::whole_tiles(n)), std::numeric_limits<float>::infinity());
        for (std::int64_t p = 0; p < n; ++p)
            if (p % 97 != 5) half_norm[static_cast<std::size_t>(p)] = p % 89 == 7 ? -half_norm.back() : 0.0f;
    }

    void check(const gpu::FusedKernel& kernel, exact::Step step, std::int64_t wanted, std::int64_t most_lists) const {
        const auto query_words = on_device(panels(queries, q, d)), point_words = on_device(panels(points, n, d)),
                   h = on_device(half_norm);
        const std::int64_t listed = gpu::fused_listed(kernel, n, wanted);
        const gpu::Buffer<gpu::Packed> found = gpu::fused_lists(kernel.name,
                                                                {.step = step,
                                                                 .exponent = step == exact::Step::powers ? exponent : 0,
                                                                 .queries = query_words.get(),
                                                                 .points = point_words.get(),
                                                                 .half_norm = h.get(),
                                                                 .width = d,
                                                                 .q = q,
                                                                 .n = n,
                                                                 .capacity = gpu::fused_capacity(kernel, wanted),
                                                                 .listed = listed},
                                                                most_lists);
        std::vector<gpu::Packed> got(static_cast<std::size_t>(q * listed));
        gpu_arrays::check(cudaMemcpy(got.data(), found.get(), got.size() * sizeof(gpu::Packed), cudaMemcpyDefault));
        for (std::int64_t i = 0; i < q; ++i) {
            std::vector<float> values;
            for (std::int64_t p = 0; p < n; ++p)
                values.push_back(value_of(step, queries.data() + i * d, points.data() + p * d, d,
                                          half_norm[static_cast<std::size_t>(p)]));
            std::vector<float> sorted = values;
            std::partial_sort(sorted.begin(), sorted.begin() + listed, sorted.end());
            std::vector<bool> seen(static_cast<std::size_t>(n));
            for (std::int64_t j = 0; j < listed; ++j) {
                const gpu::Packed p = got[static_cast<std::size_t>(i * listed + j)];
                const auto position = static_cast<std::size_t>(p & 0xffffffffu);
                const float value = exact::Order<float>::value(static_cast<std::uint32_t>(p >> 32));
                const auto is = [&](float expected) {
                    return value == expected || std::abs(value - expected) <= error_of(step, expected, d);
                };
                ASSERT_TRUE(is(sorted[static_cast<std::size_t>(j)]))
                    << value << ", not " << sorted[static_cast<std::size_t>(j)] << ", step " << static_cast<int>(step)
                    << ", n " << n << ", q " << q << ", d " << d << ", wanted " << wanted << ", query " << i << ", "
                    << j;
                ASSERT_LT(position, values.size());
                ASSERT_TRUE(is(values[position])) << value << ", not " << values[position];
                ASSERT_FALSE(seen[position]) << "twice: " << position;
                seen[position] = true;
            }
        }
    }
};

constexpr exact::Step steps[] = {exact::Step::squares, exact::Step::cityblock, exact::Step::chebyshev,
                                 exact::Step::cubes,   exact::Step::fourths,   exact::Step::powers};

// Counts of points, queries and words that fill no tile, rows of more words than a block keeps; one part, and several.
// Every count of words meets every capacity with every step.
TEST_P(Fused, ListsHoldTheSmallestValues) {
    constexpr std::int64_t widths[] = {1, 7, 8, 9, 16, 17, 63, 64, 65, 72, 100},
                           all_wanted[] = {1, 24, 25, 53, 54, 127};
    std::set<std::array<std::int64_t, 3>> met;
    std::size_t shape = 0;
    for (const std::int64_t n : {1, 31, 32, 33, 64, 127, 128, 129, 255, 256, 257, 300, 2047, 2048, 2049, 3000})
        for (const std::int64_t q : {1, 3, 4, 5, 33}) {
            const std::int64_t d = widths[shape % std::size(widths)];
            const Lists lists(n, q, d);
            for (std::size_t w = 0; w < std::size(all_wanted); ++w) {
                const exact::Step step = steps[(shape + w) % std::size(steps)];
                lists.check(GetParam(), step, all_wanted[w], any_lists);
                met.insert({d, all_wanted[w], static_cast<std::int64_t>(step)});
            }
            if (HasFatalFailure()) return;
            ++shape;
        }
    EXPECT_EQ(std::size(widths) * std::size(all_wanted) * std::size(steps), met.size());
}

TEST_P(Fused, PartsOfPointsMerge) {
    for (const std::int64_t n : {16'384, 40'000, 70'001})
        for (const std::int64_t q : {1, 9, 70}) {
            const Lists lists(n, q, 5);
            for (const std::int64_t wanted : {3, 40, 100}) {
                lists.check(GetParam(), exact::Step::squares, wanted, any_lists);
                lists.check(GetParam(), exact::Step::squares, wanted, 3 * q);
                lists.check(GetParam(), exact::Step::squares, wanted, q);
                if (HasFatalFailure()) return;
            }
        }
}

// The longest lists that a kernel keeps.
TEST_P(Fused, LongestLists) {
    const std::int64_t most = GetParam().most_listed;
    for (const std::int64_t n : {most - 1, most, most + 1, 2 * most, 6 * most + 5})
        for (const std::int64_t wanted : {most / 2, most - 1}) {
            Lists(n, 6, 3).check(GetParam(), exact::Step::cityblock, wanted, any_lists);
            if (HasFatalFailure()) return;
        }
}

// Values that only fall: everything passes, and every buffer is always full.
TEST_P(Fused, DescendingValues) {
    constexpr std::int64_t n = 5000, q = 40;
    Lists lists(n, q, 1);
    lists.half_norm.assign(lists.half_norm.size(), 0.0f);
    for (std::int64_t p = 0; p < n; ++p) lists.points[static_cast<std::size_t>(p)] = static_cast<float>(n - p);
    for (std::int64_t i = 0; i < q; ++i) lists.queries[static_cast<std::size_t>(i)] = i % 3 ? -1.0f : 2500.0f;
    for (const std::int64_t wanted : {10, 50, 100}) lists.check(GetParam(), exact::Step::cityblock, wanted, any_lists);
}

TEST_P(Fused, EveryDataSet) {
    matrix_path_cases::every_data_set({GetParam().name}, {1, 10, 31, 64, 100}, [](const std::string&) { return true; });
}

TEST_P(Fused, EverySize) {
    std::uint64_t turn = 0;
    for (const search_cases::Size& size : search_cases::sizes)
        for (const char* const metric : {"sqeuclidean", "chebyshev"}) {
            const auto c = search_cases::make_case(variants(metric, size.d, ElementType::f32).front(), "lattice", size,
                                                   ElementType::f32, ElementType::f32, arrays::Shape::dense, ++turn);
            const auto got = search_cases::answer("cuda", c, {GetParam().name, "", 0, false}, true);
            // More neighbours than a list holds, of more points.
            if (size.k >= GetParam().most_listed && size.n > GetParam().most_listed) {
                EXPECT_FALSE(got) << c.label;
                continue;
            }
            ASSERT_TRUE(got) << c.label;
            ASSERT_EQ("", c.truth().difference(*got)) << c.label;
        }
}

// Ordinary data are certified at once.
TEST_P(Fused, OrdinaryDataAreCertified) {
    for (const std::int64_t k : {1, 12, 64, 100}) {
        const search_cases::Size size{20'000, 70, 20, k};
        const auto c = search_cases::make_case(variants("sqeuclidean", size.d, ElementType::f32).front(), "gaussian",
                                               size, ElementType::f32, ElementType::f32, arrays::Shape::dense, 3);
        const auto got = search_cases::answer("cuda", c, {GetParam().name, "", 0, false}, true);
        ASSERT_TRUE(got);
        ASSERT_EQ("", c.truth().difference(*got)) << c.label;
        EXPECT_EQ(size.q, got->report.certified) << c.label;
    }
}

// As many queries as fill a device, so that blocks have all points: the bits of path exact.
TEST_P(Fused, TheBitsOfPathExact) {
    constexpr std::int64_t n = 20'000, q = 8500, d = 7, k = 20;
    adversarial::Random random(5);
    std::vector<float> points, queries;
    for (std::int64_t i = 0; i < n * d; ++i) points.push_back(static_cast<float>(random.gaussian()));
    for (std::int64_t i = 0; i < q * d; ++i) queries.push_back(static_cast<float>(random.gaussian()));
    kith::Options options;
    options.device = "cuda";
    for (const char* const metric : {"sqeuclidean", "cityblock", "chebyshev"}) {
        options.metric = kith::metric_named(metric);
        options.path = "exact";
        const auto want = kith::search(kith::view(points.data(), n, d), kith::view(queries.data(), q, d), k, options);
        options.path = GetParam().name;
        const auto got = kith::search(kith::view(points.data(), n, d), kith::view(queries.data(), q, d), k, options);
        ASSERT_TRUE(same_answer(want, got)) << metric;
        EXPECT_EQ(q, got.report.certified) << metric;
    }
}

TEST_P(Fused, TiesBeyondAList) {
    matrix_path_cases::ties_beyond_a_list({GetParam().name});
}

TEST_P(Fused, GraphAndIndex) {
    matrix_path_cases::graph_and_index({GetParam().name});
}

std::string test_name(const testing::TestParamInfo<gpu::FusedKernel>& info) {
    std::string name = info.param.name;
    for (char& c : name)
        if (c == '-') c = '_';
    return name;
}
INSTANTIATE_TEST_SUITE_P(GpuFused, Fused, testing::ValuesIn(gpu::fused_kernels), test_name);

}  // namespace
