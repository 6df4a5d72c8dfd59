// Radii of points in clusters on a GPU, where a filter of the points in their own order has room and where it has none.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "adversarial.h"
#include "filter_values.h"
#include "kith/kith.h"

namespace {

using namespace kith;

constexpr std::int64_t d = 48;

// Rows near one of 150 points.
std::vector<float> near_centres(std::int64_t rows, std::uint64_t seed) {
    constexpr std::int64_t centres = 150;
    constexpr double spread = 1e-2;
    adversarial::Random where(1), own(seed);
    std::vector<double> middle;
    for (std::int64_t i = 0; i < centres * d; ++i) middle.push_back(where.gaussian());
    std::vector<float> out;
    for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < d; ++j)
            out.push_back(static_cast<float>(middle[static_cast<std::size_t>(i * 7919 % centres * d + j)] +
                                             spread * own.gaussian()));
    return out;
}

Options on_gpu(const std::string& path, std::int64_t memory = 0) {
    Options options;
    options.metric = MetricId::euclidean;
    options.device = "cuda";
    options.path = path;
    options.memory = memory;
    return options;
}

bool says_no_room(const Report& report) {
    return std::any_of(report.fallbacks.begin(), report.fallbacks.end(),
                       [](const Fallback& each) { return each.why.find("own order") != std::string::npos; });
}

// Where memory is little the filter of the clusters serves alone, also after a search with more memory has made the
// other one: that is part of the budget, and is released. A query's own cluster is within, or half of it.
TEST(GpuRadiusClusters, WhereMemoryIsScarce) {
    constexpr std::int64_t n = 30000, q = 3000, little = std::int64_t{10} << 20;
    const bool clusters = filter_values::instruction_sets().back() == gpu::FilterIsa::sm_90a;
    const std::vector<float> rows = near_centres(n, 32), asked = near_centres(q, 33);
    const MatrixView points = view(rows.data(), n, d), queries = view(asked.data(), q, d);
    for (const double r : {0.2, 0.098}) {
        const RadiusNeighbors want = radius(points, queries, r, on_gpu("gemm-f16"));
        EXPECT_GT(want.ids.size(), static_cast<std::size_t>(50 * q)) << r;
        const Index index(points, on_gpu("clustered"));
        for (const std::int64_t memory : {little, std::int64_t{0}, little}) {
            const RadiusNeighbors got = index.radius(queries, r, on_gpu("", memory));
            EXPECT_EQ(want.offsets, got.offsets) << r << ", " << memory;
            EXPECT_EQ(want.ids, got.ids) << r << ", " << memory;
            EXPECT_EQ(want.distances, got.distances) << r << ", " << memory;
            const RadiusCounts counts = index.radius_counts(queries, r, on_gpu("", memory));
            for (std::size_t i = 0; i < counts.counts.size(); ++i)
                ASSERT_EQ(want.offsets[i + 1] - want.offsets[i], counts.counts[i]) << r << ", " << memory << ", " << i;
            EXPECT_EQ(clusters && memory == little, says_no_room(got.report)) << r << ", " << memory;
            EXPECT_EQ(clusters && memory == little, says_no_room(counts.report)) << r << ", " << memory;
        }
    }
}

}  // namespace
