// search(), graph() and Index on CUDA against the oracle, and the bits of the CPU.
#include <atomic>
#include <cstring>
#include <limits>
#include <random>
#include <thread>

#include "gpu/runtime/memory/shared_memory.h"
#include "gpu_arrays.h"
#include "same_answer.h"
#include "search_cases.h"

namespace {

class GpuSearch : public testing::TestWithParam<std::string> {};

TEST_P(GpuSearch, EveryDataSet) {
    search_cases::every_data_set("cuda", GetParam());
}
TEST_P(GpuSearch, EveryWay) {
    search_cases::every_way("cuda", GetParam());
}
TEST_P(GpuSearch, EveryFilter) {
    search_cases::every_filter("cuda", GetParam());
}
TEST_P(GpuSearch, ManyPoints) {
    search_cases::many_points("cuda", GetParam());
}
TEST_P(GpuSearch, ManyQueries) {
    search_cases::many_queries("cuda", GetParam());
}

// With logarithms too, where the oracle leaves some room.
TEST_P(GpuSearch, GivesTheBitsOfTheCpu) {
    std::uint64_t turn = 0;
    for (const std::string& data : adversarial::names()) {
        const auto type = arrays::element_types[turn % 6];
        for (const Variant& variant : variants(GetParam(), 45, type)) {
            const auto c = search_cases::make_case(variant, data, {500, 40, 45, 25}, type, type,
                                                   arrays::shapes[turn % 3], 900 + turn);
            const auto cpu = search_cases::answer("cpu", c, {}, true);
            const auto gpu = search_cases::answer("cuda", c, {}, true);
            ASSERT_TRUE(cpu && gpu) << c.label;
            ASSERT_TRUE(same_answer(*cpu, *gpu)) << c.label;
        }
        ++turn;
    }
}

// The full scan's order of coordinates, by every number of them at which a group of partial sums begins, is cut off or
// fills its slots; rows that do not fill tiles.
TEST_P(GpuSearch, ScansOfEveryDimension) {
    const std::vector<std::string> names = adversarial::names();
    std::uint64_t turn = 0;
    for (const std::int64_t d : {1,  2,  3,  4,  5,  7,  8,  9,  12, 15,  16,  17,  23,  24,  25,  31,
                                 32, 33, 36, 40, 41, 56, 63, 64, 65, 100, 127, 128, 129, 160, 255, 257}) {
        if (GetParam() == "mahalanobis" && d > 33) continue;
        const auto type = arrays::element_types[turn % 6];
        const auto all = variants(GetParam(), d, type);
        const Variant& variant = all[turn % all.size()];
        const search_cases::Size size{65 + d % 3, 1 + d % 67, d, 70};
        const auto c = search_cases::make_case(variant, names[turn * 7 % names.size()], size, type, type,
                                               arrays::shapes[turn % 3], 300 + turn);
        ++turn;
        const auto cpu = search_cases::answer("cpu", c, {"exact", "", 1, false}, true);
        const auto gpu = search_cases::answer("cuda", c, {"exact", "", 0, false}, true);
        ASSERT_TRUE(cpu && gpu) << c.label;
        ASSERT_EQ("", c.truth().difference(*gpu)) << c.label;
        ASSERT_TRUE(same_answer(*cpu, *gpu)) << c.label;
    }
}

TEST_P(GpuSearch, GraphAndIndex) {
    std::uint64_t turn = 0;
    for (const char* data : {"duplicates", "gaussian", "nan_rows", "integers"}) {
        for (const auto type : arrays::element_types) {
            const auto all = variants(GetParam(), 21, type);
            const Variant& variant = all[turn % all.size()];
            auto c =
                search_cases::make_case(variant, data, {260, 30, 21, 9}, type, type, arrays::shapes[turn % 3], turn);
            const Truth near = c.truth();
            c.k = 270;
            const Truth far = c.truth();
            const Truth among(variant.name, variant.params, c.points.view, {}, 9, true);
            const kith::Options options = search_cases::options_of("cuda", variant, {}, turn % 2);
            ASSERT_EQ("", among.difference(kith::graph(c.points.view, 9, options))) << c.label;
            const kith::Index index(c.points.view, options);
            std::fill(c.points.bytes.begin(), c.points.bytes.end(), std::byte{0x55});
            ASSERT_EQ("", near.difference(index.search(c.queries.view, 9, options))) << c.label;
            ASSERT_EQ("", far.difference(index.search(c.queries.view, 270, options))) << c.label;
            ASSERT_EQ("", among.difference(index.graph(9, options))) << c.label;
            ++turn;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Metric, GpuSearch, testing::ValuesIn(metric_names()),
                         [](const auto& info) { return info.param; });

// The bound of a metric with a factor is tight enough to be of use, whatever the matrix.
constexpr std::int64_t factor_dimensions = 48;

std::vector<Variant> factored_variants() {
    return variants("mahalanobis", factor_dimensions, kith::ElementType::f64);
}

class GpuFilter : public testing::TestWithParam<std::size_t> {};

TEST_P(GpuFilter, CertifiesAfterAFactor) {
    constexpr std::int64_t n = 20000, q = 60, d = factor_dimensions, k = 10;
    const Variant variant = factored_variants().at(GetParam());
    // In the units of the matrix, far from the origin where f32 can hold a centre.
    const auto set = adversarial::make("gaussian", n, q, d, 21);
    const auto in_units = [&](std::vector<double> values) {
        for (std::size_t i = 0; i < values.size(); ++i) {
            const std::size_t j = i % d;
            const int exponent = -std::ilogb((*variant.matrix)[j * d + j]) / 2;
            values[i] = std::ldexp(values[i] + (std::abs(exponent) < 100 ? 1000 : 0), exponent);
        }
        return values;
    };
    const search_cases::Case c{variant.label, variant, arrays::make(in_units(set.points), n, d, kith::ElementType::f64),
                               arrays::make(in_units(set.queries), q, d, kith::ElementType::f64), k};
    const auto got = search_cases::answer("cuda", c, {}, true);
    ASSERT_TRUE(got) << c.label;
    ASSERT_EQ("", c.truth().difference(*got)) << c.label;
    EXPECT_EQ("gemm-f16", got->report.path) << c.label;
    EXPECT_EQ(0, got->report.scanned) << c.label;
    EXPECT_LT(got->report.candidates, 0.05 * n * q) << c.label;
}

INSTANTIATE_TEST_SUITE_P(Matrix, GpuFilter, testing::Range<std::size_t>(0, factored_variants().size()));

// More neighbours than points take no memory of the device; the missing ones are those of the CPU.
TEST(GpuSearchWide, MoreNeighboursThanPoints) {
    constexpr std::int64_t n = 60, q = 9, d = 7, k = 300000;
    for (const char* metric : {"sqeuclidean", "inner_product", "hellinger", "cityblock"}) {
        const Variant variant = variants(metric, d, kith::ElementType::f32).front();
        const auto c = search_cases::make_case(variant, "nan_rows", {n, q, d, k}, kith::ElementType::f32,
                                               kith::ElementType::f32, arrays::Shape::dense, 4);
        for (const bool f64 : {false, true}) {
            kith::Options cpu = search_cases::options_of("cpu", variant, {}, f64),
                          cuda = search_cases::options_of("cuda", variant, {}, f64);
            cuda.memory = 4 << 20;  // a column of ids alone would take 20 MB
            const auto same = [&](const kith::Neighbors& want, const kith::Neighbors& got) {
                EXPECT_EQ(want.k, got.k);
                EXPECT_TRUE(same_answer(want, got)) << c.label;
            };
            const auto want = kith::search(c.points.view, c.queries.view, k, cpu);
            same(want, kith::search(c.points.view, c.queries.view, k, cuda));
            same(want, kith::Index(c.points.view, cuda).search(c.queries.view, k, cuda));
            same(kith::graph(c.points.view, k, cpu), kith::graph(c.points.view, k, cuda));
            cpu.include_self = cuda.include_self = true;
            same(kith::graph(c.points.view, n + 5, cpu), kith::graph(c.points.view, n + 5, cuda));
            cuda.include_self = false;
            const gpu_arrays::Buffer<std::int64_t> ids(q * k);
            const gpu_arrays::Buffer<double> distances(q * k);
            kith::search_into(c.points.view, c.queries.view, k, cuda, {ids.data(), distances.data(), 0});
            EXPECT_TRUE(want.ids == ids.host()) << c.label;
            const auto found = distances.host();
            const void* const bits = f64 ? static_cast<const void*>(want.distances64.data()) : want.distances.data();
            EXPECT_EQ(0, std::memcmp(bits, found.data(), q * k * (f64 ? 8 : 4))) << c.label;
        }
    }
}

// Vectors so long that their differences do not fit into a block's shared memory: here, by having less of it.
TEST(GpuSearchWide, DifferencesBeyondSharedMemory) {
    for (const std::int64_t d : {5, 64, 101}) {
        const auto all = variants("mahalanobis", d, kith::ElementType::f32);
        for (const Variant& variant : all) {
            const auto c = search_cases::make_case(variant, "gaussian", {300, 17, d, 20}, kith::ElementType::f32,
                                                   kith::ElementType::f32, arrays::Shape::dense, 6);
            const auto cpu = search_cases::answer("cpu", c, {}, true);
            kith::gpu::most_shared_bytes = 0;
            const auto gpu = search_cases::answer("cuda", c, {"exact", "", 0, false}, true);
            kith::gpu::most_shared_bytes = std::numeric_limits<std::int64_t>::max();
            ASSERT_TRUE(cpu && gpu) << c.label;
            ASSERT_TRUE(same_answer(*cpu, *gpu)) << c.label;
        }
    }
}

// From 262,144 points on a tile of pairs serves its rows and its columns, where the matrix units are those of 9.0; the
// other instructions take every pair twice.
void both_sides_of_a_tile(std::int64_t d) {
    constexpr std::int64_t n = 262144 + 77, k = 7;
    std::mt19937 random(5);
    std::normal_distribution<float> normal;
    std::vector<float> values(static_cast<std::size_t>(n * d));
    for (const bool copies : {false, true}) {
        for (std::int64_t i = 0; i < n * d; ++i) {
            // Half of the points are copies of others, some of them of a few.
            const std::int64_t row = i / d;
            const bool copy = copies && row % 2 == 1;
            const std::int64_t from = row % 6 == 1 ? row % 100 : row / 2;
            values[static_cast<std::size_t>(i)] =
                copy ? values[static_cast<std::size_t>(from * d + i % d)] : normal(random);
        }
        // Points that the filter cannot hold: they pass every limit, on either side.
        for (std::int64_t i = 1000; copies && i < n; i += 50021)
            values[static_cast<std::size_t>(i * d + 3)] = std::numeric_limits<float>::infinity();
        for (const char* metric : {"sqeuclidean", "cosine"}) {
            kith::Options options;
            options.metric = kith::metric_named(metric);
            options.device = "cuda";
            options.f64 = true;
            const kith::Index index(kith::view(values.data(), n, d), options);
            const kith::Neighbors both = index.graph(k, options);
            options.isa = "sm_80";
            const kith::Neighbors twice = index.graph(k, options);
            ASSERT_TRUE(same_answer(twice, both)) << metric;
            EXPECT_EQ(n, both.report.certified + both.report.retried + both.report.scanned);
        }
    }
}

// Of one K-tile of coordinates, and of two.
TEST(GpuGraph, BothSidesOfATileGiveTheSameBits) {
    both_sides_of_a_tile(48);
}
TEST(GpuGraph, BothSidesOfAWideTileGiveTheSameBits) {
    both_sides_of_a_tile(100);
}

TEST(GpuIndex, SearchesFromSeveralThreads) {
    const Variant variant = variants("cosine", 24, kith::ElementType::f16).front();
    const auto make = [&](std::int64_t k) {
        return search_cases::make_case(variant, "clusters", {3000, 31, 24, k}, kith::ElementType::f16,
                                       kith::ElementType::f32, arrays::Shape::dense, 11);
    };
    const auto base = make(1);
    const kith::Index index(base.points.view, search_cases::options_of("cuda", variant, {}, false));
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            const auto c = make(1 + 13 * t);
            const Truth truth = c.truth();
            for (int repeat = 0; repeat < 10; ++repeat) {
                if (!truth.difference(index.search(c.queries.view, c.k)).empty()) ++wrong;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(0, wrong);
}

TEST(GpuSearchErrors, NegativeCoordinate) {
    const float values[] = {1, 2, 3, -4};
    kith::Options options;
    options.device = "cuda";
    options.metric = kith::MetricId::hellinger;
    try {
        kith::search(kith::view(values, 2, 2), kith::view(values, 1, 2), 1, options);
        ADD_FAILURE() << "accepted";
    } catch (const kith::Error& error) {
        EXPECT_NE(std::string::npos, std::string(error.what()).find("row 1, column 1 is -4")) << error.what();
    }
}

}  // namespace
