// The direct filter on a GPU: its kernels stay within the error of their form (the attacks of direct_forms.h), keep
// padding, NaN and points that are not covered apart, and searches that take it have the oracle's answers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "direct_forms.h"
#include "direct_panels.h"
#include "gpu/metric/kernels.h"
#include "gpu/runtime/memory/device_memory.h"
#include "gpu_arrays.h"
#include "kith/kith.h"

namespace {

using namespace direct_forms;
using direct_panels::gpu_form;
using direct_panels::on_device;
using direct_panels::panels;
using direct_panels::width_of;
using direct_panels::with_sizes;

constexpr float infinity = std::numeric_limits<float>::infinity(), most = std::numeric_limits<float>::max();
constexpr std::int64_t tile = gpu::filter_tile_points;

// Every value of a query with up to a tile of points.
std::vector<float> values_of(const exact::DirectForm& form, const Vector& query, const std::vector<Vector>& points,
                             const std::vector<float>& half_norms) {
    const auto queries = on_device(panels(form, {query})), words = on_device(panels(form, points));
    const auto h = on_device(with_sizes(form, points, half_norms));
    gpu::Buffer<float> all(tile, nullptr);
    gpu::FilterPass pass;
    pass.step = form.step;
    pass.exponent = form.exponent;
    pass.queries = queries.get();
    pass.points = words.get();
    pass.half_norm = h.get();
    pass.q = 1;
    pass.n = pass.count = std::ssize(points);
    pass.width = width_of(form, std::ssize(query));
    pass.all = all.get();
    pass.ld = tile;
    gpu::sweep(pass, gpu::FilterIsa::sm_80, nullptr);
    std::vector<float> values(static_cast<std::size_t>(tile));
    EXPECT_EQ(cudaSuccess, cudaMemcpy(values.data(), all.get(), values.size() * sizeof(float), cudaMemcpyDefault));
    return values;
}

std::vector<float> padded(std::size_t points) {
    std::vector<float> h(static_cast<std::size_t>(tile), infinity);
    std::fill_n(h.begin(), points, 0.0f);
    return h;
}

void within_error(const Form& f, const Vector& query, const std::vector<Vector>& points, const char* what) {
    if (testing::Test::HasFatalFailure()) return;
    const exact::DirectForm form = gpu_form(f);
    const std::vector<float> values = values_of(form, query, points, padded(points.size()));
    const exact::DirectBound bound = exact::direct_bound(form.error, std::ssize(query));
    const long double g = (bound.growth - 1.0L) / (bound.growth + 1.0L);
    for (std::size_t p = 0; p < points.size(); ++p) {
        const long double rank = exact_value(f, query, points[p]), error = g * rank + bound.lost;
        if (rank * (1 + g) > most) {
            ASSERT_GE(values[p], std::min<long double>(most, rank * (1 - g))) << f.name;
            ASSERT_LE(values[p], most) << f.name;
            continue;
        }
        ASSERT_LE(std::abs(values[p] - rank), error)
            << f.name << ", d " << query.size() << ", " << what << ", point " << p << ": " << values[p] << " is not "
            << static_cast<double>(rank) << " within " << static_cast<double>(error);
    }
    // To the end of the panel.
    for (std::size_t p = points.size(); p % gpu::filter_tile_queries != 0; ++p)
        ASSERT_EQ(infinity, values[p]) << f.name;
}

TEST(GpuDirect, OneCoordinate) {
    for (const Form& f : forms(1)) {
        one_coordinate(f, 480, 200, [&](const Vector& query, const std::vector<Vector>& points, const char* what) {
            within_error(f, query, points, what);
        });
    }
}

TEST(GpuDirect, Vectors) {
    vectors(33, within_error);
}

// Rows of f64, which are rounded and pay for it.
TEST(GpuDirect, RoundedRows) {
    rounded_rows(200, true,
                 [](const exact::DirectForm& form, const Vector& query, const std::vector<Vector>& points,
                    const std::vector<float>& half_norms) {
                     std::vector<float> h = padded(0);
                     std::copy(half_norms.begin(), half_norms.end(), h.begin());
                     return values_of(form, query, points, h);
                 });
}

// +inf of padding and NaN points stays, and so does the -inf of a point that is not covered, whatever its words are.
TEST(GpuDirect, HalfNormsStay) {
    for (const Form& f : forms(3)) {
        const exact::DirectForm form = gpu_form(f);
        std::vector<Vector> points(4, Vector(3, 1.0));
        std::vector<float> h = padded(4);
        h[1] = infinity;
        h[2] = -infinity;
        h[3] = -infinity;
        if (exact::coordinates_per_word(form) == 1) {
            points[2][0] = std::numeric_limits<double>::quiet_NaN();
            points[3][1] = std::numeric_limits<double>::infinity();
        }
        const std::vector<float> values = values_of(form, Vector(3, 1.0), points, h);
        EXPECT_EQ(0.0f, values[0]) << f.name;
        EXPECT_EQ(infinity, values[1]) << f.name;
        EXPECT_EQ(-infinity, values[2]) << f.name;
        EXPECT_EQ(-infinity, values[3]) << f.name;
        EXPECT_EQ(infinity, values[4]) << f.name;
    }
}

// A quotient over a sum of 0 is +inf, as the key is, however small the coordinates.
TEST(GpuDirect, QuotientsOfMirroredPoints) {
    const float u = std::numeric_limits<float>::denorm_min();
    const std::vector<float> query = {2 * u, 3 * u};
    std::vector<float> points;
    for (int i = 0; i < 40; ++i) points.insert(points.end(), {-2 * u, (i == 25 ? -4 : -3) * u});
    Options options;
    options.device = "cuda";
    options.metric = MetricId::braycurtis;
    options.path = "direct-f32";
    options.f64 = true;
    const Neighbors found = search(view(points.data(), 40, 2), view(query.data(), 1, 2), 2, options);
    EXPECT_EQ((std::vector<std::int64_t>{25, 0}), found.ids);
    EXPECT_EQ((Vector{11, std::numeric_limits<double>::infinity()}), found.distances64);
}

// The same coordinates in another order are as far, but not in f32: what a step rounds decides which of them pass.
TEST(GpuDirect, NearTies) {
    std::mt19937_64 random(4);
    std::normal_distribution<float> normal;
    constexpr int n = 20000, near = 60, d = 64, k = 10;
    std::vector<float> row(d), points(static_cast<std::size_t>(n * d)), query(d);
    for (float& x : row) x = normal(random);
    for (float& x : points) x = 10 + normal(random);
    for (int i = 0; i < near; ++i) {
        std::shuffle(row.begin(), row.end(), random);
        std::copy(row.begin(), row.end(), points.begin() + i * (n / near) * d);
    }
    for (const MetricId id : {MetricId::cityblock, MetricId::sqeuclidean}) {
        Options options;
        options.metric = id;
        options.device = "cuda";
        options.path = "direct-f32";
        options.f64 = true;
        const Neighbors found = search(view(points.data(), n, d), view(query.data(), 1, d), k, options);
        options.path = "exact";
        const Neighbors truth = search(view(points.data(), n, d), view(query.data(), 1, d), k, options);
        EXPECT_EQ(truth.ids, found.ids) << name(id);
        EXPECT_EQ(truth.distances64, found.distances64) << name(id);
    }
}

// A power whose error is no small number is not filtered.
TEST(GpuDirect, ServesNoPowerBeyondItsError) {
    const std::vector<float> points = {0, 1, 2, 4, 8, 16}, query = {1.25f, 2.5f};
    Options options;
    options.device = "cuda";
    options.metric = MetricId::minkowski;
    for (const double p : {1024.0, 1025.0, 5000.0}) {
        options.metric.p = p;
        const Neighbors found = search(view(points.data(), 3, 2), view(query.data(), 1, 2), 2, options);
        EXPECT_EQ((std::vector<std::int64_t>{0, 1}), found.ids) << p;
        EXPECT_EQ(found.ids, Index(view(points.data(), 3, 2), options).search(view(query.data(), 1, 2), 2, options).ids)
            << p;
    }
}

// An Index of few dimensions takes queries of another type, too.
TEST(GpuDirect, AnIndexServesQueriesOfF64) {
    std::mt19937_64 random(5);
    std::normal_distribution<double> normal;
    std::vector<float> points(30000 * 3);
    std::vector<double> queries(50 * 3);
    for (float& x : points) x = static_cast<float>(normal(random));
    for (double& x : queries) x = normal(random);
    Options options;
    options.device = "cuda";
    options.f64 = true;
    const Index index(view(points.data(), 30000, 3), options);
    for (const char* path : {"", "direct-f32", "gemm-f16"}) {
        options.path = path;
        const Neighbors found = index.search(view(queries.data(), 50, 3), 7, options);
        options.path = "exact";
        const Neighbors truth = index.search(view(queries.data(), 50, 3), 7, options);
        EXPECT_EQ(truth.ids, found.ids) << path;
        EXPECT_EQ(truth.distances64, found.distances64) << path;
        EXPECT_EQ(*path ? path : "tree", found.report.path) << path;
        EXPECT_EQ(0, found.report.scanned) << path;
    }
}

TEST(GpuDirect, SearchesOfRoundedRows) {
    rounded_searches("cuda", 6000);
}

TEST(GpuDirect, TinyDifferences) {
    tiny_differences("cuda");
}

TEST(GpuDirect, SearchesOfF64AreCertified) {
    searches_of_f64_are_certified("cuda", 20000);
}

// Of few dimensions, time stamps in seconds with milliseconds are certified at once.
TEST(GpuDirect, CertifiesTimeStamps) {
    std::mt19937_64 random(7);
    std::uniform_real_distribution<double> year(1.7e9, 1.7e9 + 3e7);
    constexpr int n = 200000, q = 300, k = 10;
    std::vector<double> points(n), queries(q);
    for (double& x : points) x = std::round(1000 * year(random)) / 1000;
    for (double& x : queries) x = std::round(1000 * year(random)) / 1000;
    for (const MetricId id : {MetricId::sqeuclidean, MetricId::cityblock, MetricId::chebyshev}) {
        Options options;
        options.metric = id;
        options.device = "cuda";
        options.f64 = true;
        const Neighbors found = search(view(points.data(), n, 1), view(queries.data(), q, 1), k, options);
        options.path = "exact";
        const Neighbors truth = search(view(points.data(), n, 1), view(queries.data(), q, 1), k, options);
        EXPECT_EQ(truth.ids, found.ids) << name(id);
        EXPECT_EQ(truth.distances64, found.distances64) << name(id);
        EXPECT_EQ("direct-f32", found.report.path) << name(id);
        EXPECT_EQ(q, found.report.certified) << name(id);
        EXPECT_LT(found.report.candidates, 2.0 * q * k) << name(id);
    }
}

// What this many queries and points take: tiles of several panels, parts of slices, lists that are flushed; ordinary
// data are certified at once.
TEST(GpuDirect, CertifiesOrdinaryData) {
    std::mt19937_64 random(3);
    std::normal_distribution<float> normal;
    for (const auto& [n, q, d, k] :
         {std::tuple{20000, 300, 70, 10}, {70000, 5, 3, 100}, {30000, 400, 5, 10}, {20000, 257, 16, 10}}) {
        std::vector<float> points(static_cast<std::size_t>(n * d)), queries(static_cast<std::size_t>(q * d));
        for (float& x : points) x = std::abs(normal(random));
        for (float& x : queries) x = std::abs(normal(random));
        for (const MetricId id : {MetricId::cityblock, MetricId::chebyshev, MetricId::minkowski, MetricId::canberra,
                                  MetricId::braycurtis, MetricId::jensenshannon, MetricId::sqeuclidean}) {
            for (const double p : {3.0, 2.5}) {
                if (id != MetricId::minkowski && p != 3) continue;
                Options options;
                options.metric = id;
                if (id == MetricId::minkowski) options.metric.p = p;
                options.device = "cuda";
                options.path = "direct-f32";
                options.f64 = true;
                const Neighbors found = search(view(points.data(), n, d), view(queries.data(), q, d), k, options);
                options.path = "exact";
                const Neighbors truth = search(view(points.data(), n, d), view(queries.data(), q, d), k, options);
                const std::string what = std::string(name(id)) + ", d " + std::to_string(d);
                EXPECT_EQ(truth.ids, found.ids) << what;
                EXPECT_EQ(truth.distances64, found.distances64) << what;
                EXPECT_EQ("direct-f32", found.report.path) << what;
                // Bytes leave more than f32 does.
                const bool bytes = id == MetricId::cityblock || id == MetricId::sqeuclidean;
                EXPECT_LE(bytes ? q - 5 : q, found.report.certified) << what;
                EXPECT_LT(found.report.candidates, (bytes ? 12.0 : 4.0) * q * k) << what;
            }
        }
    }
}

// Of bits and of sets, few and many queries; rows longer than a slice; every element type.
TEST(GpuDirect, CertifiesBits) {
    std::mt19937_64 random(9);
    for (const auto& [n, q, d, k] : {std::tuple{30000, 300, 64, 10}, {70000, 5, 24, 20}, {20000, 257, 200, 10}}) {
        std::vector<std::uint8_t> points(static_cast<std::size_t>(n * d)), queries(static_cast<std::size_t>(q * d));
        for (auto* rows : {&points, &queries})
            for (std::uint8_t& x : *rows) x = static_cast<std::uint8_t>(random() & random());
        std::vector<double> wide_points(points.begin(), points.end()), wide_queries(queries.begin(), queries.end());
        for (auto* rows : {&wide_points, &wide_queries})
            for (double& x : *rows) x = x < 40 ? 0 : 1e-300 * x;
        for (const MetricId id : {MetricId::hamming, MetricId::jaccard, MetricId::dice}) {
            for (const bool packed : {true, false}) {
                if (id == MetricId::hamming && !packed) continue;
                Options options;
                options.device = "cuda";
                options.metric = id;
                options.metric.packed_bits = packed;
                options.f64 = true;
                const MatrixView of = packed ? view(points.data(), n, d) : view(wide_points.data(), n, d),
                                 with = packed ? view(queries.data(), q, d) : view(wide_queries.data(), q, d);
                options.path = "direct-f32";
                const Neighbors found = search(of, with, k, options);
                options.path = "exact";
                const Neighbors truth = search(of, with, k, options);
                const std::string what = std::string(name(id)) + (packed ? ", packed, d " : ", d ") + std::to_string(d);
                EXPECT_EQ(truth.ids, found.ids) << what;
                EXPECT_EQ(truth.distances64, found.distances64) << what;
                EXPECT_EQ("direct-f32", found.report.path) << what;
                EXPECT_EQ(0, found.report.scanned) << what;
            }
        }
    }
}

}  // namespace
