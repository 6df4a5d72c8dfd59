// Whole searches on the CPU in which a neighbour hangs by one term of a threshold (bound_opposites.h).
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bound_opposites.h"
#include "cpu/tile.h"
#include "kith/kith.h"

namespace {

using namespace kith;
using bound_opposites::append;
using bound_opposites::Opposites;

constexpr int bf16_bits = 8;

std::int64_t nearest(const std::vector<double>& points, const std::vector<double>& query, MetricId metric) {
    const auto d = static_cast<std::int64_t>(query.size()), n = static_cast<std::int64_t>(points.size()) / d;
    Options options;
    options.device = "cpu";
    options.metric = metric;
    options.path = "gemm-bf16";
    options.threads = 1;
    return search(view(points.data(), n, d), view(query.data(), 1, d), 1, options).ids[0];
}

// E is needed twice, for the rival's upper value and for the neighbour's lower one.
TEST(BoundNeighbours, SquaresOfBf16NeedTheErrorTwice) {
    if (!cpu::pair_kernels()) GTEST_SKIP() << "this processor has no AVX512_BF16";
    const Opposites data = bound_opposites::squares(bf16_bits);
    EXPECT_EQ(1, nearest(bound_opposites::points(data), data.query, MetricId::sqeuclidean));
}

// What the query rounds beyond its share is E.
TEST(BoundNeighbours, UnitQueriesOfBf16NeedTheErrorTwice) {
    if (!cpu::pair_kernels()) GTEST_SKIP() << "this processor has no AVX512_BF16";
    const Opposites data = bound_opposites::units(bf16_bits);
    for (const MetricId metric : {MetricId::cosine, MetricId::inner_product})
        EXPECT_EQ(1, nearest(bound_opposites::points(data), data.query, metric)) << name(metric);
}

// As many rivals as a list holds, tied: they are refined in place, and the threshold is that of their rank.
TEST(BoundNeighbours, ARankOfBf16NeedsTheErrorOnce) {
    if (!cpu::pair_kernels()) GTEST_SKIP() << "this processor has no AVX512_BF16";
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
