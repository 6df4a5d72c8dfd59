// search_batches() on a GPU: one launch with the bits of a search of each batch on the CPU, wherever the arrays lie;
// what the launch does not serve.
#include "batches_cases.h"
#include "exact/report/progress.h"
#include "gpu_arrays.h"
#include "same_answer.h"

namespace {

using namespace kith;
using batches_cases::expected;
using batches_cases::ragged;

search_cases::Case make_case(const std::string& metric, const std::string& data, std::int64_t n, std::int64_t q,
                             std::int64_t d, ElementType type, std::uint64_t turn) {
    return search_cases::make_case(variants(metric, d, type).front(), data, {n, q, d, 1}, type, type,
                                   arrays::shapes[turn % 3], turn);
}

class GpuBatches : public testing::TestWithParam<std::string> {};

TEST_P(GpuBatches, AreSearchesOfEach) {
    constexpr std::int64_t n = 2700, q = 220;
    const std::int64_t dimensions[] = {3, 1, 4, 7, 16, 32, 33, 64, 9, 100, 128},
                       ks[] = {16, 1, 17, 32, 5, 33, 100, 128};
    std::uint64_t turn = 0;
    for (const std::string& data : adversarial::names()) {
        for (const bool second : {false, true}) {
            const ElementType type = second ? arrays::element_types[2 + turn % 4] : ElementType::f32;
            const std::int64_t d = dimensions[turn % 11], k = ks[turn / 3 % 8];
            const auto c = make_case(GetParam(), data, n, q, d, type, turn);
            const Options options = search_cases::options_of("cuda:0", c.variant, {}, turn % 2 == 0);
            const Neighbors want = expected(c, ragged(n, q), k, options);
            const Neighbors got = search_batches(c.points.view, c.queries.view, ragged(n, q), k, options);
            ASSERT_EQ("batches", got.report.path) << c.label;
            ASSERT_TRUE(same_answer(want, got)) << c.label << ", k " << k;
            ++turn;
        }
    }
}

TEST_P(GpuBatches, InDeviceMemory) {
    constexpr std::int64_t n = 600, q = 200, k = 12;
    std::uint64_t turn = 0;
    for (const bool f64 : {false, true}) {
        const auto c = make_case(GetParam(), "lattice", n, q, 3, ElementType::f32, ++turn);
        const Options options = search_cases::options_of("auto", c.variant, {}, f64);
        const Neighbors want = expected(c, ragged(n, q), k, options);
        const auto points = gpu_arrays::on_device(c.points), queries = gpu_arrays::on_device(c.queries);
        const gpu_arrays::Buffer<std::int64_t> ids(q * k);
        const gpu_arrays::Buffer<double> distances64(q * k);
        const gpu_arrays::Buffer<float> distances(q * k);
        void* const to = f64 ? static_cast<void*>(distances64.data()) : distances.data();
        const gpu_arrays::Stream stream;
        Options on_stream = options;
        on_stream.stream = stream.get();
        const Report report = search_batches_into(points.view, queries.view, ragged(n, q), k, on_stream,
                                                  {ids.data(), to, points.view.device});
        EXPECT_EQ("batches", report.path);
        Neighbors got;
        got.queries = q;
        got.k = k;
        got.ids = ids.host();
        if (f64) got.distances64 = distances64.host();
        else got.distances = distances.host();
        EXPECT_TRUE(same_answer(want, got)) << c.label;
        // Ids alone, and from queries on the host.
        const gpu_arrays::Buffer<std::int64_t> alone(q * k);
        search_batches_into(points.view, c.queries.view, ragged(n, q), k, options,
                            {alone.data(), nullptr, points.view.device});
        EXPECT_EQ(want.ids, alone.host());
    }
}

INSTANTIATE_TEST_SUITE_P(Metric, GpuBatches, testing::Values("sqeuclidean", "euclidean", "cityblock"),
                         [](const auto& info) { return info.param; });

// More than a launch has as its arguments, of fewer points than neighbours and of more.
TEST(GpuBatches, Hundreds) {
    constexpr std::int64_t n = 4000, q = 3000, count = 300;
    const auto c = make_case("sqeuclidean", "integers", n, q, 3, ElementType::f32, 3);
    std::vector<Batch> batches;
    for (std::int64_t i = 0; i < count; ++i) batches.push_back({i * 13, 1 + i % 60, i * 10, i % 11});
    const Options options = search_cases::options_of("cuda:0", c.variant, {}, true);
    const Neighbors got = search_batches(c.points.view, c.queries.view, batches, 20, options);
    EXPECT_EQ("batches", got.report.path);
    EXPECT_TRUE(same_answer(expected(c, batches, 20, options), got));
}

// Every lane's column fills at its own time: queries at all distances of points that come nearer and nearer.
TEST(GpuBatches, PointsThatComeNearer) {
    constexpr std::int64_t n = 3000, q = 100, k = 16;
    std::vector<float> points(n), queries(q);
    for (std::int64_t i = 0; i < n; ++i) points[static_cast<std::size_t>(i)] = static_cast<float>(n - i);
    for (std::int64_t i = 0; i < q; ++i) queries[static_cast<std::size_t>(i)] = static_cast<float>(i * i) / 3;
    const std::vector<Batch> batches{{0, n, 0, q}};
    Options options;
    const MatrixView x = view(points.data(), n, 1), y = view(queries.data(), q, 1);
    options.device = "cpu";
    const Neighbors want = search(x, y, k, options);
    options.device = "cuda:0";
    EXPECT_TRUE(same_answer(want, search_batches(x, y, batches, k, options)));
}

TEST(GpuBatches, CountsProgressAndIsCancelled) {
    constexpr std::int64_t n = 300, q = 130;
    const auto c = make_case("euclidean", "gaussian", n, q, 3, ElementType::f32, 5);
    Options options = search_cases::options_of("cuda:0", c.variant, {}, false);
    ProgressMeter::milliseconds_between = 0;
    int calls = 0, end = 0;
    Progress last;
    options.progress = [&](const Progress& p) {
        last = p;
        return ++calls != end;
    };
    const Neighbors got = search_batches(c.points.view, c.queries.view, ragged(n, q), 3, options);
    EXPECT_EQ("batches", got.report.path);
    EXPECT_EQ(2, calls);
    EXPECT_EQ(got.report.pairs, last.done);
    EXPECT_EQ(got.report.pairs, last.total);
    for (end = 1; end <= 2; ++end) {
        calls = 0;
        EXPECT_THROW(search_batches(c.points.view, c.queries.view, ragged(n, q), 3, options), Error);
    }
    ProgressMeter::milliseconds_between = 100;
}

// A launch's share of many queries, and the rest of them.
TEST(GpuBatches, InSeveralLaunches) {
    constexpr std::int64_t n = 1 << 15, q = (1 << 22) + 5000, d = 1, k = 1;
    std::vector<std::uint8_t> points(n), queries(q);
    for (std::int64_t i = 0; i < n; ++i) points[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(i * 7 % 251);
    for (std::int64_t i = 0; i < q; ++i) queries[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(i % 256);
    // Small ones beside a large one, so that all are together.
    std::vector<Batch> batches{{0, n, 0, 1 << 20}};
    for (std::int64_t first = 1 << 20; first < q; first += 256)
        batches.push_back({first % 1000, 100, first, std::min<std::int64_t>(256, q - first)});
    Options options;
    options.device = "cuda:0";
    const Neighbors got = search_batches(view(points.data(), n, d), view(queries.data(), q, d), batches, k, options);
    EXPECT_EQ("batches", got.report.path);
    std::int64_t wrong = 0;
    for (const Batch& b : batches) {
        std::vector<std::int64_t> nearest(256, -1), gap(256, 256);
        for (std::int64_t value = 0; value < 256; ++value)
            for (std::int64_t i = 0; i < std::min<std::int64_t>(b.points, 251); ++i) {
                const std::int64_t x = points[static_cast<std::size_t>(b.first_point + i)], apart = std::abs(x - value);
                if (apart < gap[static_cast<std::size_t>(value)]) {
                    gap[static_cast<std::size_t>(value)] = apart;
                    nearest[static_cast<std::size_t>(value)] = i;
                }
            }
        for (std::int64_t i = b.first_query; i < b.first_query + b.queries; ++i)
            wrong += got.ids[static_cast<std::size_t>(i)] != nearest[queries[static_cast<std::size_t>(i)]];
    }
    EXPECT_EQ(0, wrong);
}

TEST(GpuBatches, WhatOneLaunchDoesNotServe) {
    constexpr std::int64_t n = 300, q = 130;
    struct {
        const char* metric;
        std::int64_t d, k;
        ElementType type;
    } const cases[] = {{"cosine", 3, 5, ElementType::f32},
                       {"sqeuclidean", 129, 5, ElementType::f32},
                       {"sqeuclidean", 3, 129, ElementType::f32},
                       {"euclidean", 3, 5, ElementType::f64}};
    std::uint64_t turn = 0;
    for (const auto& each : cases) {
        const auto c = make_case(each.metric, "gaussian", n, q, each.d, each.type, ++turn);
        const Options options = search_cases::options_of("cuda:0", c.variant, {}, true);
        const Neighbors got = search_batches(c.points.view, c.queries.view, ragged(n, q), each.k, options);
        EXPECT_NE("batches", got.report.path) << c.label;
        EXPECT_TRUE(same_answer(expected(c, ragged(n, q), each.k, options), got)) << c.label;
    }
}

}  // namespace
