// Searches of a few f32 queries, which compare them with the points' own rows: data on which one term of that filter
// decides.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "cpu/simd/isa.h"
#include "kith/kith.h"

namespace {

using namespace kith;
using Ids = std::vector<std::int64_t>;

constexpr float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();

// One query on one thread by that path, in every instruction set of this machine.
template <class Check>
void each_search(const std::vector<float>& points, const std::vector<float>& query, MetricId metric,
                 const std::string& path, std::int64_t k, const Check& check) {
    const auto d = static_cast<std::int64_t>(query.size()), n = static_cast<std::int64_t>(points.size()) / d;
    for (const cpu::Isa isa : {cpu::Isa::baseline, cpu::Isa::avx2, cpu::Isa::avx512, cpu::Isa::amx}) {
        if (!cpu::supported(isa)) continue;
        SCOPED_TRACE(std::string(name(metric)) + ", " + cpu::name(isa));
        Options options;
        options.device = "cpu";
        options.metric = metric;
        options.path = path;
        options.isa = cpu::name(isa);
        options.threads = 1;
        check(search(view(points.data(), n, d), view(query.data(), 1, d), k, options));
    }
}

void expect_ids(const std::vector<float>& points, const std::vector<float>& query, MetricId metric,
                const std::string& path, const Ids& ids) {
    each_search(points, query, metric, path, static_cast<std::int64_t>(ids.size()),
                [&](const Neighbors& got) { EXPECT_EQ(ids, got.ids); });
}

// The maximum over the other coordinates is the least of all.
TEST(FewQueries, ARowWithANaNLowersNoThreshold) {
    for (const std::size_t at : {0, 1, 16, 39}) {
        std::vector<float> points(3 * 40, 1.0f);
        std::fill_n(points.begin() + 40, 40, 0.5f);
        points[40 + at] = nan;
        expect_ids(points, std::vector<float>(40, 0.0f), MetricId::chebyshev, "direct-f32", {0});
        expect_ids(points, std::vector<float>(40, 0.0f), MetricId::cityblock, "direct-f32", {0});
        expect_ids(points, std::vector<float>(40, 0.0f), MetricId::sqeuclidean, "gemm-f32", {0});
    }
}

// Rows whose values f32 does not hold have no bound: none is dropped.
TEST(FewQueries, RowsThatAreNotCoveredAreCandidates) {
    // Squares that underflow, and that overflow.
    for (const float size : {0x1p-100f, 0x1p100f}) {
        std::vector<float> points = {1, 0, 1, 2, 1, 3, 0, 1};
        points.insert(points.end(), {size, size});
        expect_ids(points, {1, 1}, MetricId::cosine, "gemm-f32", {4, 1, 2});
    }
    // Products that overflow to both sides.
    expect_ids({-1, -1, 3e38f, -2e38f, -1, -2}, {4, 4}, MetricId::inner_product, "gemm-f32", {1, 0});
    // inf - inf; the distance is infinite.
    for (const MetricId metric : {MetricId::cityblock, MetricId::chebyshev})
        expect_ids({infinity, 0, 1, 0, 2, 0}, {infinity, 0}, metric, "direct-f32", {0, 1, 2});
}

// Ties that fill the list are refined, and their distance lowers the threshold below what their upper values did: what
// follows at a cosine less by three errors is not looked at.
TEST(FewQueries, TheDistanceOfTiesLowersTheThresholdOfACosine) {
    constexpr std::int64_t d = 512, ties = 128, others = 512;
    const double error = 3 * static_cast<double>(d) * 0x1p-24;
    std::vector<float> points(static_cast<std::size_t>((ties + others) * d), 0.0f), query(d, 0.0f);
    query[0] = 1;
    for (std::int64_t i = 0; i < ties + others; ++i) {
        float* const row = points.data() + i * d;
        row[0] = 1;
        if (i >= ties) row[1] = static_cast<float>(std::sqrt(2 * 1.75 * error));
    }
    each_search(points, query, MetricId::cosine, "gemm-f32", 1, [&](const Neighbors& got) {
        EXPECT_EQ(Ids{0}, got.ids);
        EXPECT_LT(got.report.candidates, 2 * ties);
    });
}

}  // namespace
