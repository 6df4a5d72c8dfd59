// Searches by radius on a GPU, and shared by several: the bits of the CPU and the oracle's word, listed and counted.
#include <algorithm>
#include <cmath>
#include <limits>

#include "api/check/validate.h"
#include "api/group/device_group.h"
#include "api/radius/radius.h"
#include "gpu/backend.h"
#include "gpu_arrays.h"
#include "kith/distances.h"
#include "radius_cases.h"

namespace {

using namespace kith;
using radius_cases::difference;

search_cases::Case make_case(const std::string& metric, const std::string& data, std::uint64_t turn) {
    const auto type = arrays::element_types[turn % 6];
    const std::int64_t d = metric == "haversine" ? 2 : 24;
    const auto all = variants(metric, d, type);
    return search_cases::make_case(all[turn % all.size()], data, {900, 70, d, 1}, type, type, arrays::shapes[turn % 3],
                                   turn);
}

class GpuRadius : public testing::TestWithParam<std::string> {};

TEST_P(GpuRadius, IsThatOfTheCpu) {
    std::uint64_t turn = GetParam().size();
    for (const char* data : {"duplicates", "gaussian", "nan_rows", "clusters", "lattice"}) {
        const auto c = make_case(GetParam(), data, turn);
        const auto found = radius_cases::one("cuda:0", c, {}, turn % 2 == 0, turn % 3 == 0, turn);
        ASSERT_TRUE(found) << c.label;
        ASSERT_EQ("", *found) << c.label;
        ++turn;
    }
}

TEST_P(GpuRadius, OfAnIndexOfDeviceMemoryAndOfTwoShards) {
    std::uint64_t turn = GetParam().size() + 1;
    const bool similarity = oracle::definition(GetParam()).similarity;
    for (const char* data : {"lattice", "gaussian"}) {
        const auto c = make_case(GetParam(), data, turn++);
        const std::vector<double> radii = radius_cases::radii_on(radius_cases::all_of(c), similarity, turn);
        const Radius r = radius_cases::radius_of(radii, false);
        const Options on_cpu = search_cases::options_of("cpu", c.variant, {}, true);
        const Options on_gpu = search_cases::options_of("cuda:0", c.variant, {}, true);
        const RadiusNeighbors want = radius(c.points.view, c.queries.view, r, on_cpu);
        const RadiusNeighbors among = radius_graph(c.points.view, radii.front(), on_cpu);
        const auto points = gpu_arrays::on_device(c.points), queries = gpu_arrays::on_device(c.queries);
        for (const bool resident : {false, true}) {
            const MatrixView& p = resident ? points.view : c.points.view;
            const MatrixView& q = resident ? queries.view : c.queries.view;
            ASSERT_EQ("", difference(want, radius(p, q, r, on_gpu))) << c.label;
            ASSERT_EQ("", difference(among, radius_graph(p, radii.front(), on_gpu))) << c.label;
            const Index index(p, on_gpu);
            ASSERT_EQ("", difference(want, index.radius(q, r, on_gpu))) << c.label;
            ASSERT_EQ(radius_cases::counts_of(want), index.radius_counts(q, r, on_gpu).counts) << c.label;

            ProgressMeter progress(on_gpu.progress, 0);
            const MetricSpec metric = api::validate_metric(on_gpu.metric, p, 1, progress);
            const Shape shape{p.rows, q.rows, p.cols, 1, p.type, false};
            const std::vector<std::string> devices{"cuda:0", gpu::device_count() > 1 ? "cuda:1" : "cuda:0"};
            const api::DeviceGroup group(p, metric, devices, shape, on_gpu, false, progress, {{}, 300, 100});
            const RadiusNeighbors shared = api::collect_radius(q.rows, true, [&](const TakeRadiusRows& take) {
                return api::run_radius(group, metric, {&q, r, on_gpu, progress, {.take = &take}});
            });
            ASSERT_EQ("", difference(want, shared)) << c.label;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Metric, GpuRadius, testing::ValuesIn(metric_names()),
                         [](const auto& info) { return info.param; });

Options on(const char* device, MetricId metric) {
    Options options;
    options.device = device;
    options.metric = metric;
    options.f64 = true;
    return options;
}

// Of each query a radius that one of the first points lies on: the nearest of these, or any.
std::vector<double> radii_at_points(const search_cases::Case& c, const Options& on_cpu) {
    MatrixView some = c.points.view;
    some.rows = 48;
    const Distances all = distances(some, c.queries.view, on_cpu);
    const bool similarity = oracle::definition(c.variant.name).similarity;
    std::vector<double> radii;
    for (std::int64_t i = 0; i < all.queries; ++i) {
        const double* const row = all.values64.data() + i * all.points;
        if (i % 4 == 0) radii.push_back(row[i % all.points]);
        else
            radii.push_back(similarity ? *std::max_element(row, row + all.points)
                                       : *std::min_element(row, row + all.points));
        if (i % 4 == 2) radii.back() = std::nextafter(radii.back(), similarity ? oracle::infinity : 0.0);
    }
    return radii;
}

// Lists that have room for some of what is within: several ranges of the points, and fewer queries at a time.
TEST(RadiusOnGpuRanges, AreThoseOfTheCpu) {
    std::uint64_t turn = 0;
    for (const char* metric : {"sqeuclidean", "cosine", "inner_product", "cityblock", "chebyshev", "minkowski",
                               "hamming", "kl_divergence", "jensenshannon"}) {
        const char* const data[] = {"gaussian", "clusters", "lattice"};
        const Variant variant = variants(metric, 16, ElementType::f32).front();
        const auto c = search_cases::make_case(variant, data[turn % 3], {12000, 130, 16, 1}, ElementType::f32,
                                               ElementType::f32, arrays::Shape::dense, turn);
        const Options on_cpu = search_cases::options_of("cpu", c.variant, {}, true);
        Options on_gpu = search_cases::options_of("cuda:0", c.variant, {}, true);
        const std::vector<double> radii = radii_at_points(c, on_cpu);
        const Radius r = radius_cases::radius_of(radii, turn % 2 == 1);
        const RadiusNeighbors want = radius(c.points.view, c.queries.view, r, on_cpu);
        ASSERT_EQ("", difference(want, radius(c.points.view, c.queries.view, r, on_gpu))) << c.label;
        ASSERT_EQ(radius_cases::counts_of(want), radius_counts(c.points.view, c.queries.view, r, on_gpu).counts)
            << c.label;
        MatrixView some = c.points.view;
        some.rows = 1500;
        ASSERT_EQ(radius_graph_counts(some, radii[turn % 4], on_cpu).counts,
                  radius_graph_counts(some, radii[turn % 4], on_gpu).counts)
            << c.label << ", graph";
        on_gpu.memory = std::int64_t{12} << 20;
        ASSERT_EQ("", difference(want, radius(c.points.view, c.queries.view, r, on_gpu))) << c.label << ", 12 MiB";
        ASSERT_EQ(radius_cases::counts_of(want), radius_counts(c.points.view, c.queries.view, r, on_gpu).counts)
            << c.label << ", 12 MiB";
        ++turn;
    }
}

// Points of which the device holds some at a time.
TEST(RadiusOnGpuRanges, PointsThatStream) {
    for (const char* metric : {"sqeuclidean", "cityblock"}) {
        const Variant variant = variants(metric, 16, ElementType::f32).front();
        const auto c = search_cases::make_case(variant, "clusters", {30000, 40, 16, 1}, ElementType::f32,
                                               ElementType::f32, arrays::Shape::dense, 7);
        const Options on_cpu = search_cases::options_of("cpu", c.variant, {}, true);
        Options on_gpu = search_cases::options_of("cuda:0", c.variant, {}, true);
        on_gpu.memory = std::int64_t{5} << 20;
        Options filtered = on_gpu;
        filtered.path = std::string_view(metric) == "cityblock" ? "direct-f32" : "gemm-f16";
        ASSERT_LT(plan({30000, 40, 16, 1, ElementType::f32, false}, filtered).chunk_points, 30000) << metric;
        const std::vector<double> radii = radii_at_points(c, on_cpu);
        const Radius r = radius_cases::radius_of(radii, false);
        const RadiusNeighbors want = radius(c.points.view, c.queries.view, r, on_cpu);
        ASSERT_EQ("", difference(want, radius(c.points.view, c.queries.view, r, on_gpu))) << metric;
        ASSERT_EQ(radius_cases::counts_of(want), radius_counts(c.points.view, c.queries.view, r, on_gpu).counts)
            << metric;
    }
    const Variant variant = variants("euclidean", 160, ElementType::f32).front();
    const auto c = search_cases::make_case(variant, "gaussian", {2400, 40, 160, 1}, ElementType::f32, ElementType::f32,
                                           arrays::Shape::dense, 8);
    const Options on_cpu = search_cases::options_of("cpu", c.variant, {}, true);
    Options on_gpu = search_cases::options_of("cuda:0", c.variant, {}, true);
    on_gpu.memory = std::int64_t{4} << 20;
    ASSERT_LT(plan({2400, 2400, 160, 1, ElementType::f32, false}, on_gpu).chunk_points, 2400);
    const double r = radii_at_points(c, on_cpu)[1];
    ASSERT_EQ(radius_graph_counts(c.points.view, r, on_cpu).counts,
              radius_graph_counts(c.points.view, r, on_gpu).counts);
}

// Points 3 and 4 away from the query in two coordinates, and equal ones of each: all are at exactly the radius.
TEST(RadiusOnGpu, AllPointsAtTheRadius) {
    constexpr std::int64_t n = 3000, d = 16;
    std::vector<float> points(static_cast<std::size_t>(n * d), 2.0f);
    for (std::int64_t i = 0; i < n; ++i) {
        const std::int64_t first = i % d, second = (first + 1 + i / d % (d - 1)) % d;
        points[static_cast<std::size_t>(i * d + first)] += i % 2 ? 3.0f : -3.0f;
        points[static_cast<std::size_t>(i * d + second)] += i % 3 ? 4.0f : -4.0f;
    }
    const std::vector<float> queries(static_cast<std::size_t>(3 * d), 2.0f);
    const MatrixView p = view(points.data(), n, d), q = view(queries.data(), 3, d);
    const struct {
        MetricId metric;
        double r;
    } cases[] = {{MetricId::euclidean, 5},
                 {MetricId::sqeuclidean, 25},
                 {MetricId::cityblock, 7},
                 {MetricId::chebyshev, 4},
                 {MetricId::hamming, 2.0 / 16}};
    for (const auto& c : cases) {
        const Index index(p, on("cuda:0", c.metric));
        for (const bool open : {false, true}) {
            const std::vector<double> radii{c.r, std::nextafter(c.r, 0.0), std::nextafter(c.r, oracle::infinity)};
            const Radius r = radius_cases::radius_of(radii, open);
            const std::vector<std::int64_t> want{open ? 0 : n, 0, n};
            EXPECT_EQ(want, index.radius_counts(q, r).counts) << name(c.metric) << (open ? ", open" : "");
            const RadiusNeighbors found = index.radius(q, r, on("cuda:0", c.metric));
            EXPECT_EQ(want, radius_cases::counts_of(found));
            for (std::int64_t i = 0; i < n && !found.ids.empty(); ++i)
                ASSERT_EQ(i, found.ids[static_cast<std::size_t>(found.offsets[2] + i)]);
        }
    }
}

// An Index that searches by a tree has filters for radii.
TEST(RadiusOnGpu, OfFewDimensions) {
    for (const char* metric : {"cityblock", "chebyshev", "sqeuclidean"}) {
        const Variant variant = variants(metric, 3, ElementType::f32).front();
        const auto c = search_cases::make_case(variant, "gaussian", {20000, 60, 3, 1}, ElementType::f32,
                                               ElementType::f32, arrays::Shape::dense, 9);
        const Options on_cpu = search_cases::options_of("cpu", variant, {}, true);
        Options on_gpu = search_cases::options_of("cuda:0", variant, {}, true);
        const std::vector<double> radii = radii_at_points(c, on_cpu);
        const Radius r = radius_cases::radius_of(radii, false);
        const RadiusNeighbors want = radius(c.points.view, c.queries.view, r, on_cpu);
        on_gpu.path = "tree";
        const Index index(c.points.view, on_gpu);
        EXPECT_EQ("tree", index.search(c.queries.view, 5, on_gpu).report.path) << metric;
        on_gpu.path.clear();
        ASSERT_EQ("", difference(want, index.radius(c.queries.view, r, on_gpu))) << metric;
        ASSERT_EQ(radius_cases::counts_of(want), index.radius_counts(c.queries.view, r, on_gpu).counts) << metric;
        ASSERT_EQ("", difference(want, radius(c.points.view, c.queries.view, r, on_gpu))) << metric;
        on_gpu.path = "tree";
        EXPECT_THROW(radius(c.points.view, c.queries.view, r, on_gpu), Error) << metric;
    }
}

// Two clusters whose points are closer together than fp16 tells apart, then than f32 does: queries go to finer filters,
// and those of numbers beyond fp16 with them.
TEST(RadiusOnGpu, FinerFilters) {
    constexpr std::int64_t n = 6000, q = 80, d = 16;
    for (const double spread : {1e-4, 1e-9}) {
        std::vector<double> points(n * d), queries(q * d);
        const auto fill = [&](std::vector<double>& rows, std::int64_t count, std::uint64_t seed) {
            adversarial::Random random(seed);
            for (std::int64_t i = 0; i < count; ++i)
                for (std::int64_t j = 0; j < d; ++j)
                    rows[static_cast<std::size_t>(i * d + j)] = (i % 2 ? 1 : -1) + spread * random.uniform();
        };
        fill(points, n, 1);
        fill(queries, q, 2);
        queries[0] = 1e30;
        points[5 * d] = -1e30;
        const MatrixView p = view(points.data(), n, d), x = view(queries.data(), q, d);
        for (const MetricId metric : {MetricId::euclidean, MetricId::cityblock, MetricId::cosine}) {
            const double r =
                distances(view(points.data() + 2 * d, 1, d), view(queries.data() + 2 * d, 1, d), on("cpu", metric))
                    .values64[0];
            const RadiusNeighbors want = radius(p, x, r, on("cpu", metric));
            const RadiusNeighbors got = radius(p, x, r, on("cuda:0", metric));
            EXPECT_EQ("", difference(want, got)) << name(metric) << ", " << spread;
            if (metric == MetricId::euclidean) {
                EXPECT_GT(got.report.retried + got.report.scanned, 0) << spread;
            }
            EXPECT_EQ(radius_cases::counts_of(want), radius_counts(p, x, r, on("cuda:0", metric)).counts)
                << name(metric) << ", " << spread;
        }
    }
}

// The ends: duplicates at 0, infinity, NaN.
TEST(RadiusOnGpu, Ends) {
    const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    const std::vector<float> points{0, inf, nan, 1, 0, 0}, queries{0, nan};
    const MatrixView p = view(points.data(), 6, 1), q = view(queries.data(), 2, 1);
    for (const MetricId metric : {MetricId::sqeuclidean, MetricId::cityblock, MetricId::canberra}) {
        for (const char* path : {"", "exact"}) {
            Options options = on("cuda:0", metric);
            options.path = path;
            for (const double r : {0.0, 1.0, std::numeric_limits<double>::infinity()}) {
                for (const bool open : {false, true}) {
                    Radius radius_of(r);
                    radius_of.open = open;
                    const auto got = radius(p, q, radius_of, options);
                    EXPECT_EQ("", difference(radius(p, q, radius_of, on("cpu", metric)), got)) << name(metric) << r;
                    EXPECT_EQ(radius_cases::counts_of(got), radius_counts(p, q, radius_of, options).counts);
                }
            }
        }
    }
}

// What the bound proves to be within is not evaluated.
TEST(RadiusOnGpu, CountsWithoutALook) {
    for (const char* metric : {"sqeuclidean", "cosine", "cityblock", "jaccard"}) {
        const Variant variant = variants(metric, 32, ElementType::f32).front();
        const auto c = search_cases::make_case(variant, "gaussian", {5000, 300, 32, 1}, ElementType::f32,
                                               ElementType::f32, arrays::Shape::dense, 5);
        const Options options = search_cases::options_of("cuda:0", variant, {}, true);
        const auto all = radius_counts(c.points.view, c.queries.view, 1e6, options);
        EXPECT_EQ(std::vector<std::int64_t>(300, 5000), all.counts) << metric;
        EXPECT_EQ(0, all.report.candidates) << metric;
        EXPECT_EQ(300, all.report.certified) << metric;
        const auto none = radius_counts(c.points.view, c.queries.view, 0, options);
        EXPECT_EQ(radius_counts(c.points.view, c.queries.view, 0, on("cpu", variant.metric.id)).counts, none.counts);
    }
}

// Rows come in order, in blocks of about as many bytes as were asked for.
TEST(RadiusOnGpu, Blocks) {
    const auto c = make_case("euclidean", "lattice", 0);
    Options options = search_cases::options_of("cuda:0", c.variant, {}, true);
    const RadiusNeighbors want = radius(c.points.view, c.queries.view, 3.0, options);
    options.memory = std::int64_t{4} << 20;
    std::int64_t rows = 0, entries = 0;
    radius_blocks(c.points.view, c.queries.view, 3.0, options, [&](const RadiusRows& block) {
        ASSERT_EQ(rows, block.first);
        for (std::int64_t i = 0; i < block.count; ++i) {
            const std::int64_t from = want.offsets[static_cast<std::size_t>(rows + i)];
            ASSERT_EQ(from, entries + block.offsets[i]);
            for (std::int64_t at = block.offsets[i]; at < block.offsets[i + 1]; ++at)
                ASSERT_EQ(want.ids[static_cast<std::size_t>(entries + at)], block.ids[at]);
        }
        rows += block.count;
        entries += block.offsets[block.count];
    });
    EXPECT_EQ(want.queries, rows);
    EXPECT_EQ(static_cast<std::int64_t>(want.ids.size()), entries);
}

}  // namespace
