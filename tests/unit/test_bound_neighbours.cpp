// Whole searches on the CPU in which a neighbour hangs by one term of a threshold (bound_opposites.h).
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bound_opposites.h"
#include "cpu/filter/tile/tile.h"
#include "kith/kith.h"

namespace {

using namespace kith;
using bound_opposites::append;
using bound_opposites::Opposites;

constexpr int bf16_bits = 8;

std::int64_t nearest(const std::vector<double>& points, const std::vector<double>& query, MetricId metric,
                     const char* path = "gemm-bf16") {
    const auto d = static_cast<std::int64_t>(query.size()), n = static_cast<std::int64_t>(points.size()) / d;
    Options options;
    options.device = "cpu";
    options.metric = metric;
    options.path = path;
    options.threads = 1;
    return search(view(points.data(), n, d), view(query.data(), 1, d), 1, options).ids[0];
}

std::int64_t nearest_of_two(const std::vector<float>& points, const std::vector<float>& query, MetricId metric) {
    const auto d = static_cast<std::int64_t>(query.size());
    Options options;
    options.device = "cpu";
    options.metric = metric;
    options.path = "direct-f32";
    return search(view(points.data(), 2, d), view(query.data(), 1, d), 1, options).ids[0];
}

// E is needed twice, for the rival's upper value and for the neighbour's lower one.
TEST(BoundNeighbours, SquaresOfBf16NeedTheErrorTwice) {
    if (!cpu::pair_kernels(cpu::best_isa())) GTEST_SKIP() << "this processor has no AVX512_BF16";
    const Opposites data = bound_opposites::squares(bf16_bits);
    EXPECT_EQ(1, nearest(bound_opposites::points(data), data.query, MetricId::sqeuclidean));
}

// What the query rounds beyond its share is E.
TEST(BoundNeighbours, UnitQueriesOfBf16NeedTheErrorTwice) {
    if (!cpu::pair_kernels(cpu::best_isa())) GTEST_SKIP() << "this processor has no AVX512_BF16";
    const Opposites data = bound_opposites::units(bf16_bits);
    for (const MetricId metric : {MetricId::cosine, MetricId::inner_product})
        EXPECT_EQ(1, nearest(bound_opposites::points(data), data.query, metric)) << name(metric);
}

// Squares of such coordinates are below what binary64 holds but for one: the norm is far too small, the query, divided
// by it, far longer than 1.
TEST(BoundNeighbours, QueriesWhoseNormsLoseBitsAreNotCovered) {
    if (!cpu::pair_kernels(cpu::best_isa())) GTEST_SKIP() << "this processor has no AVX512_BF16";
    Opposites data = bound_opposites::squares(bf16_bits);
    data.query[64] = 4;
    for (double& x : data.query) x *= 0x1p-539;
    EXPECT_EQ(1, nearest(bound_opposites::points(data), data.query, MetricId::inner_product));
}

// Points of a cosine are scaled first, so that their norms keep all bits: as they are, both distances would be clipped
// to 0, and the smaller id would come first.
TEST(BoundNeighbours, PointsWhoseNormsWouldLoseBitsAreScaled) {
    std::vector<double> points;
    for (const double size : {1.0, 1.4}) {
        points.push_back(0x1p-537);
        for (int j = 1; j < 64; ++j) points.push_back(size * 0x1p-538);
    }
    const std::vector<double> query(64, 1.0);
    EXPECT_EQ(1, nearest(points, query, MetricId::cosine, "gemm-f32"));
}

// An f32 sum that overflows on the way to a small value.
TEST(BoundNeighbours, PointsWhoseProductsOverflowAreNotCovered) {
    std::vector<double> points;
    for (int i = 0; i < 40; ++i)
        for (int j = 0; j < 8; ++j) points.push_back(i == 20 ? (j < 4 ? -3e38 : 3e38) : -0.5);
    EXPECT_EQ(20, nearest(points, std::vector<double>(8, 1.0), MetricId::inner_product, "gemm-f32"));
}

// A sum of f32 that overflows where the other does not: their quotient would be 0.
TEST(BoundNeighbours, PointsWhoseSumsOverflowAreNotCovered) {
    EXPECT_EQ(1, nearest_of_two({0x1.ffp126f, 0x1p127f, 0x1.4p126f, 0}, {0x1p127f, 0}, MetricId::braycurtis));
}

// The same of a reciprocal of a denormal, which processors take for 0.
TEST(BoundNeighbours, PointsWhoseSumsAreDenormalAreNotCovered) {
    EXPECT_EQ(1, nearest_of_two({0x1p-149f, 1, 0, 2}, {0, 1}, MetricId::canberra));
}

// Bytes of points do not hold such a query: none is equal, and the first of all is the nearest, where a rounded query
// would have found another.
TEST(BoundNeighbours, QueriesThatNoByteHoldsAreNotCovered) {
    const std::uint8_t points[] = {3, 0, 7, 8, 255};
    Options options;
    options.device = "cpu";
    options.metric = MetricId::hamming;
    options.path = "direct-f32";
    for (const float query : {-1.0f, 7.5f, 263.0f, -249.0f, 1e30f})
        EXPECT_EQ(0, search(view(points, 5, 1), view(&query, 1, 1), 1, options).ids[0]) << query;
}

// Beside a coordinate of 0 it has the whole distance of 1, where its quotient says an eighth.
TEST(BoundNeighbours, QueriesWhoseQuotientsAreCutOffAreNotCovered) {
    EXPECT_EQ(1, nearest_of_two({0, 1, 0x1p-100f, 1.2f}, {0x1p-103f, 1}, MetricId::canberra));
}

// As many rivals as a list holds, tied: they are refined in place, and the threshold is that of their rank.
TEST(BoundNeighbours, ARankOfBf16NeedsTheErrorOnce) {
    if (!cpu::pair_kernels(cpu::best_isa())) GTEST_SKIP() << "this processor has no AVX512_BF16";
    const Opposites data = bound_opposites::squares(bf16_bits);
    // Others, far away to both sides, keep the mean where it is.
    std::vector<double> points, far = data.neighbour;
    for (int i = 0; i < 96; ++i) {
        far.back() = i % 2 ? 30 : -30;
        append(points, far, 1);
    }
    for (int i = 0; i < 96; ++i) append(points, data.neighbour, -1);
    append(points, data.neighbour, 1);
    EXPECT_EQ(192, nearest(points, data.query, MetricId::sqeuclidean));
}

// A sum of f32 that gains half a unit at every step, and one that loses it: the relative errors of both are needed.
TEST(BoundNeighbours, SumsOfF32NeedTheErrorOfBoth) {
    constexpr std::int64_t d = 64, queries = 20;  // more than the filter for few queries takes
    std::vector<float> points, zeros(d * queries, 0.0f);
    for (int i = 0; i < 2; ++i) {
        points.push_back(i == 0 ? 1 + 0x1p-22f : 1.0f);
        for (std::int64_t j = 1; j < d; ++j) points.push_back((i == 0 ? 0.99f : 1.01f) * 0x1p-24f);
    }
    for (const cpu::Isa isa : {cpu::Isa::baseline, cpu::Isa::avx2, cpu::Isa::avx512}) {
        if (!cpu::supported(isa)) continue;
        Options options;
        options.device = "cpu";
        options.metric = MetricId::cityblock;
        options.path = "direct-f32";
        options.isa = cpu::name(isa);
        const auto got = search(view(points.data(), 2, d), view(zeros.data(), queries, d), 1, options);
        for (const std::int64_t id : got.ids) ASSERT_EQ(1, id) << cpu::name(isa);
    }
}

}  // namespace
