// Radii by a GPU's tree: the rows and counts of the CPU, where boxes are left out, counted as a whole, looked into.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "gpu_arrays.h"
#include "kith/distances.h"
#include "radius_cases.h"

namespace {

using namespace kith;
using radius_cases::counts_of;
using radius_cases::difference;

constexpr double infinity = std::numeric_limits<double>::infinity();

// An Index that has a tree.
Index with_tree(const MatrixView& points, const MatrixView& queries, Options options) {
    options.path = "tree";
    Index index(points, options);
    EXPECT_EQ("tree", index.search(queries, 5, options).report.path);
    return index;
}

class GpuRadiusTree : public testing::TestWithParam<const char*> {};

// Few queries and many, of a radius that a pair lies on.
TEST_P(GpuRadiusTree, IsThatOfTheCpu) {
    std::uint64_t turn = 0;
    for (const char* data : {"gaussian", "lattice", "duplicates", "nan_rows", "infinities", "clusters"}) {
        for (const std::int64_t d : {1, 3, 4, 5, 8}) {
            ++turn;
            const auto type = turn % 3 == 0 ? ElementType::f64 : ElementType::f32;
            const auto all = variants(GetParam(), d, type);
            const auto c = search_cases::make_case(all[turn % all.size()], data, {20000, turn % 2 ? 900 : 60, d, 1},
                                                   type, type, arrays::shapes[turn % 3], turn);
            const Options on_cpu = search_cases::options_of("cpu", c.variant, {}, true);
            const Options on_gpu = search_cases::options_of("cuda:0", c.variant, {}, true);
            const Index index = with_tree(c.points.view, c.queries.view, on_gpu);
            MatrixView some = c.points.view;
            some.rows = 300;
            const Distances near = distances(some, c.queries.view, on_cpu);
            std::vector<double> radii;
            for (std::int64_t i = 0; i < near.queries; ++i) {
                const double* const row = near.values64.data() + i * near.points;
                double r = infinity;
                for (std::int64_t j = 0; j < near.points; ++j) r = std::fmin(r, row[j]);
                if (!(r < infinity)) r = 1;
                if (i % 5 == 1) r = std::nextafter(r, 0.0);
                if (i % 5 == 2) r = 0;
                if (i % 50 == 3) r = infinity;
                if (i % 50 == 8) r = row[7] >= 0 ? row[7] : 1;
                radii.push_back(std::max(r, 0.0));
            }
            const Radius r = radius_cases::radius_of(radii, turn % 2 == 0);
            const RadiusNeighbors want = radius(c.points.view, c.queries.view, r, on_cpu);
            ASSERT_EQ("", difference(want, index.radius(c.queries.view, r, on_gpu))) << c.label;
            ASSERT_EQ(counts_of(want), index.radius_counts(c.queries.view, r, on_gpu).counts) << c.label;
        }
    }
}

// The points among themselves: none is in its own row, whether its box was counted as a whole or not.
TEST_P(GpuRadiusTree, Graphs) {
    std::uint64_t turn = 3;
    for (const char* data : {"gaussian", "lattice", "duplicates", "nan_rows", "infinities", "clusters"}) {
        const std::int64_t d = 2 + static_cast<std::int64_t>(turn % 3);
        const auto c =
            search_cases::make_case(variants(GetParam(), d, ElementType::f32).front(), data, {9000, 20, d, 1},
                                    ElementType::f32, ElementType::f32, arrays::Shape::dense, turn++);
        const Options on_cpu = search_cases::options_of("cpu", c.variant, {}, true);
        Options on_gpu = search_cases::options_of("cuda:0", c.variant, {}, true);
        const Index index = with_tree(c.points.view, c.queries.view, on_gpu);
        const Neighbors near = search(c.points.view, c.queries.view, 60, on_cpu);
        for (const double r : {0.0, near.distances64[4], near.distances64[30], 1e6, infinity}) {
            if (!(r >= 0)) continue;
            Radius radius(r);
            radius.open = turn % 2 == 0;
            const auto counts = radius_graph_counts(c.points.view, radius, on_cpu).counts;
            ASSERT_EQ(counts, index.radius_graph_counts(radius, on_gpu).counts) << c.label << ", " << r;
            on_gpu.include_self = true;
            Options whole = on_cpu;
            whole.include_self = true;
            ASSERT_EQ(radius_graph_counts(c.points.view, radius, whole).counts,
                      index.radius_graph_counts(radius, on_gpu).counts)
                << c.label << ", " << r;
            on_gpu.include_self = false;
            if (std::accumulate(counts.begin(), counts.end(), std::int64_t{0}) > 5000000) continue;
            ASSERT_EQ("", difference(radius_graph(c.points.view, radius, on_cpu), index.radius_graph(radius, on_gpu)))
                << c.label << ", " << r;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Metric, GpuRadiusTree,
                         testing::Values("sqeuclidean", "euclidean", "seuclidean", "hellinger", "cityblock",
                                         "chebyshev"));

// Points enough that making a tree pays: it is taken unasked, and rows that do not fit at once come in order.
TEST(RadiusTreeOnGpu, IsMadeWhereItPays) {
    const auto c =
        search_cases::make_case(variants("euclidean", 3, ElementType::f32).front(), "gaussian", {60000, 30000, 3, 1},
                                ElementType::f32, ElementType::f32, arrays::Shape::dense, 5);
    const Options on_cpu = search_cases::options_of("cpu", c.variant, {}, false);
    Options on_gpu = search_cases::options_of("cuda:0", c.variant, {}, false);
    const RadiusNeighbors want = radius(c.points.view, c.queries.view, 0.1, on_cpu);
    const RadiusNeighbors got = radius(c.points.view, c.queries.view, 0.1, on_gpu);
    EXPECT_EQ("tree", got.report.path);
    EXPECT_EQ("", difference(want, got));
    EXPECT_EQ(30000, got.report.certified);
    const RadiusCounts counts = radius_counts(c.points.view, c.queries.view, 0.1, on_gpu);
    EXPECT_EQ("tree", counts.report.path);
    EXPECT_EQ(counts_of(want), counts.counts);
    // Looked at are few of the points, and fewer where most are within.
    EXPECT_LT(counts.report.candidates, 30000.0 * 60000 / 50);
    const RadiusCounts all = radius_counts(c.points.view, c.queries.view, 100.0, on_gpu);
    EXPECT_EQ(std::vector<std::int64_t>(30000, 60000), all.counts);
    EXPECT_EQ(0, all.report.candidates);
    // A graph's own points, in their places and in blocks.
    EXPECT_EQ("", difference(radius_graph(c.points.view, 0.05, on_cpu), radius_graph(c.points.view, 0.05, on_gpu)));
    on_gpu.memory = std::int64_t{96} << 20;
    std::int64_t next = 0;
    RadiusNeighbors rows;
    rows.offsets.push_back(0);
    radius_blocks(c.points.view, c.queries.view, 0.3, on_gpu, [&](const RadiusRows& block) {
        ASSERT_EQ(next, block.first);
        next += block.count;
        for (std::int64_t i = 1; i <= block.count; ++i)
            rows.offsets.push_back(static_cast<std::int64_t>(rows.ids.size()) + block.offsets[i]);
        rows.ids.insert(rows.ids.end(), block.ids, block.ids + block.offsets[block.count]);
    });
    const RadiusNeighbors wide = radius(c.points.view, c.queries.view, 0.3, on_cpu);
    EXPECT_EQ(wide.offsets, rows.offsets);
    EXPECT_EQ(wide.ids, rows.ids);
}

// Coordinates that take all partial sums that a lane has.
TEST(RadiusTreeOnGpu, OfEightDimensions) {
    for (const char* metric : {"sqeuclidean", "cityblock", "chebyshev"}) {
        const auto c =
            search_cases::make_case(variants(metric, 8, ElementType::f32).front(), "clusters", {140000, 13000, 8, 1},
                                    ElementType::f32, ElementType::f32, arrays::Shape::dense, 6);
        const Options on_cpu = search_cases::options_of("cpu", c.variant, {}, true);
        const Options on_gpu = search_cases::options_of("cuda:0", c.variant, {}, true);
        MatrixView some = c.queries.view;
        some.rows = 4;
        const double r = search(c.points.view, some, 2, on_cpu).distances64[3];
        const RadiusNeighbors want = radius(c.points.view, c.queries.view, r, on_cpu);
        EXPECT_EQ("", difference(want, radius(c.points.view, c.queries.view, r, on_gpu))) << metric;
        EXPECT_EQ(counts_of(want), radius_counts(c.points.view, c.queries.view, r, on_gpu).counts) << metric;
        // Of an Index there is a tree; queries that are points are among them.
        const Index index = with_tree(c.points.view, some, on_gpu);
        const RadiusCounts few = index.radius_counts(some, 0.0, on_gpu);
        EXPECT_EQ("tree", few.report.path) << metric;
        EXPECT_EQ(radius_counts(c.points.view, some, 0.0, on_cpu).counts, few.counts) << metric;
    }
}

// Where boxes leave out too little a filter answers: a radius at which most boxes are cut.
TEST(RadiusTreeOnGpu, LeavesToAFilterWhatItServesWorse) {
    constexpr std::int64_t n = 4000, d = 8;
    adversarial::Random random(3);
    std::vector<float> points(static_cast<std::size_t>(n * d));
    for (float& x : points) x = static_cast<float>(random.uniform());
    const MatrixView p = view(points.data(), n, d);
    Options on_cpu, on_gpu;
    on_cpu.device = "cpu";
    on_gpu.device = "cuda:0";
    for (Options* options : {&on_cpu, &on_gpu}) options->metric = MetricId::chebyshev;
    const Index index = with_tree(p, p, on_gpu);
    for (const double r : {0.1, 0.5, 0.9}) {
        const auto counts = index.radius_counts(p, r);
        EXPECT_EQ(radius_counts(p, p, r, on_cpu).counts, counts.counts) << r;
        EXPECT_EQ(n, counts.report.certified + counts.report.retried + counts.report.scanned) << r;
    }
}

}  // namespace
