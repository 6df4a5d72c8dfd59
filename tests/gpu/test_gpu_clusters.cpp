// The path "clustered": no pair whose value is within its query's threshold lies in a tile that is left out, and
// searches are held to the bits of other paths.
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>

#include "filter_values.h"
#include "gpu/filter/fused/augmented.h"
#include "gpu/points/partition/clusters.h"
#include "gpu/runtime/check.h"
#include "gpu/search/passes/clustered_pass.h"
#include "gpu/search/tile/nearest_clusters.h"
#include "gpu_arrays.h"
#include "gpu_options.h"
#include "kith/kith.h"
#include "prepared_filter.h"
#include "same_answer.h"
#include "search_cases.h"
#include "spectrum.h"

namespace {

using namespace kith;
using filter_values::to_host;

// Rows near one of `centres` points, all of them offset.
struct Clustered {
    std::vector<float> rows;
    std::int64_t n, d;

    Clustered(std::int64_t count, std::int64_t dimensions, std::int64_t centres, double spread, std::uint64_t seed,
              double offset = 0, std::uint64_t of = 1)
        : n(count), d(dimensions) {
        adversarial::Random where(of), own(seed);
        std::vector<double> middle;
        for (std::int64_t i = 0; i < centres * d; ++i) middle.push_back(where.gaussian() + offset);
        for (std::int64_t i = 0; i < n; ++i) {
            const std::int64_t c = i * 7919 % centres;
            for (std::int64_t j = 0; j < d; ++j)
                rows.push_back(
                    static_cast<float>(middle[static_cast<std::size_t>(c * d + j)] + spread * own.gaussian()));
        }
    }
    float& at(std::int64_t row, std::int64_t col) { return rows[static_cast<std::size_t>(row * d + col)]; }
    MatrixView view() const { return kith::view(rows.data(), n, d); }
};

bool serves_here() {
    return filter_values::instruction_sets().back() == gpu::FilterIsa::sm_90a;
}

// ---- what is left out

// Thresholds of all sizes, each the value of some point: tiles that no list names hold none within. Values are computed
// in the order of the search.
void attack(const Clustered& points, const Clustered& queries, const std::string& metric, const std::string& what) {
    const PreparedFilter filter(points.view(), queries.view(), metric, Path::clustered, "sm_90a");
    const std::int64_t n = filter.n, q = filter.q;
    const gpu::Chunk& chunk = filter.chunk();
    ASSERT_TRUE(chunk.clusters) << what;
    gpu::Buffer<float> threshold(q, nullptr);
    gpu::FilterPass pass = filter.pass();
    const std::int64_t padded = gpu::whole_tiles(n);
    gpu::Buffer<float> all(q * padded, nullptr);
    gpu::FilterPass every = pass;
    every.all = all.get();
    every.ld = padded;
    gpu::sweep(every, gpu::FilterIsa::sm_90a, nullptr);
    const std::vector<float> values = to_host(all.get(), q * padded);
    std::int64_t left_out = 0, looked_at = 0;
    for (const double share : {0.0, 0.0005, 0.01, 0.3, 0.9}) {
        const std::vector<float> thresholds = filter_values::thresholds_of(values, padded, n, share);
        gpu_arrays::check(
            cudaMemcpy(threshold.get(), thresholds.data(), thresholds.size() * 4, cudaMemcpyHostToDevice));
        gpu::ClusteredPass clustered(*chunk.clusters, gpu::FilterIsa::sm_90a, nullptr);
        pass.threshold = threshold.get();
        pass.first = clustered.first();
        pass.count = n - pass.first;
        const gpu::FilterPass listed = clustered.of(pass);
        const std::int64_t groups = (q + gpu::listed_queries - 1) / gpu::listed_queries;
        const auto tiles = to_host(listed.tiles, groups * listed.tile_stride);
        const auto counts = to_host(listed.tile_counts, groups);
        for (std::int64_t g = 0; g < groups; ++g) {
            std::vector<bool> named(static_cast<std::size_t>(listed.tile_stride));
            std::int64_t before = -1;
            for (std::uint32_t t = 0; t < counts[static_cast<std::size_t>(g)]; ++t) {
                const std::int64_t tile = tiles[static_cast<std::size_t>(g * listed.tile_stride + t)];
                ASSERT_LT(before, tile) << what;
                ASSERT_LT(tile, listed.tile_stride) << what;
                named[static_cast<std::size_t>(tile)] = true;
                before = tile;
            }
            looked_at += counts[static_cast<std::size_t>(g)];
            for (std::int64_t tile = 0; tile < listed.tile_stride; ++tile) {
                if (named[static_cast<std::size_t>(tile)]) continue;
                ++left_out;
                for (std::int64_t i = g * gpu::listed_queries; i < std::min(q, (g + 1) * gpu::listed_queries); ++i) {
                    const std::int64_t from = pass.first + tile * gpu::filter_tile_points;
                    for (std::int64_t p = from; p < std::min(n, from + gpu::filter_tile_points); ++p)
                        ASSERT_GT(values[static_cast<std::size_t>(i * padded + p)],
                                  thresholds[static_cast<std::size_t>(i)])
                            << what << ", " << metric << ", query " << i << ", point at " << p;
                }
            }
        }
    }
    ::testing::Test::RecordProperty(what + "-" + metric,
                                    std::to_string(left_out) + " left out, " + std::to_string(looked_at) + " not");
}

TEST(GpuClusters, LeaveOutNothingWithin) {
    if (!serves_here()) GTEST_SKIP() << "no sm_90a";
    const std::int64_t n = 20000, d = 24, q = 300;
    Clustered tight(n, d, 40, 1e-4, 3), wide(n, d, 40, 0.3, 4), one(n, d, 1, 1.0, 5), offset(n, d, 40, 1e-2, 6, 50.0),
        tiny(n, d, 40, 1e-3, 7), huge(n, d, 40, 1e-3, 8), outlier(n, d, 40, 1e-3, 9), equal(n, d, 3, 0.0, 10);
    for (float& x : tiny.rows) x *= 1e-6f;
    for (std::int64_t i = 0; i < n; i += 3)
        for (std::int64_t j = 0; j < d; ++j) huge.at(i, j) *= 300.0f;
    for (std::int64_t j = 0; j < d; ++j) {
        outlier.at(17, j) = 3e8f;
        outlier.at(n - 5, j) = -1e6f;
        for (std::int64_t i = 5; i < n; i += 501) outlier.at(i, j) = std::numeric_limits<float>::quiet_NaN();
    }
    const Clustered near(q, d, 40, 1e-4, 11), far(q, d, 40, 1.0, 12, 20.0);
    for (const char* metric : {"sqeuclidean", "cosine", "inner_product"}) {
        for (const auto& [what, points] : {std::pair{"tight", &tight},
                                           {"wide", &wide},
                                           {"one", &one},
                                           {"offset", &offset},
                                           {"tiny", &tiny},
                                           {"huge", &huge},
                                           {"outlier", &outlier},
                                           {"equal", &equal}}) {
            attack(*points, near, metric, what);
            attack(*points, far, metric, std::string(what) + "-far");
        }
    }
}

// ---- searches

void expect_same(const MatrixView& points, const MatrixView& queries, std::int64_t k, const std::string& metric,
                 const std::string& what, bool used = true) {
    const auto want = search(points, queries, k, options_of(metric, "exact"));
    const auto got = search(points, queries, k, options_of(metric, "clustered"));
    EXPECT_TRUE(same_answer(want, got)) << what << ", " << metric << ", k " << k;
    EXPECT_EQ(used && serves_here() ? "clustered" : "gemm-f16", got.report.path) << what << ", " << metric;
    EXPECT_EQ(queries.rows, got.report.certified + got.report.retried + got.report.scanned);
}

TEST(GpuClusteredSearch, AnswersAsTheScan) {
    const std::int64_t n = 60000, d = 40, q = 3000;
    for (const double spread : {1e-4, 0.05, 1.0}) {
        const Clustered points(n, d, 200, spread, 21), queries(q, d, 200, spread, 22);
        for (const char* metric : {"sqeuclidean", "euclidean", "cosine", "inner_product", "correlation"})
            for (const std::int64_t k : {1, 10, 100})
                expect_same(points.view(), queries.view(), k, metric, "spread " + std::to_string(spread));
    }
}

TEST(GpuClusteredSearch, DataAgainstIt) {
    const std::int64_t n = 60000, d = 32, q = 2500;
    Clustered outlier(n, d, 100, 1e-3, 23), equal(n, d, 7, 0.0, 24), one(n, d, 1, 1.0, 25), line(n, d, 1, 0.0, 26),
        scales(n, d, 100, 1e-3, 27);
    for (std::int64_t j = 0; j < d; ++j) {
        outlier.at(4097, j) = 1e9f;
        outlier.at(0, j) = -3e7f;
        for (std::int64_t i = 0; i < n; ++i) {
            line.at(i, j) = static_cast<float>(i >> 4);
            scales.at(i, j) *= std::pow(10.0f, static_cast<float>(j % 9 - 4));
            if (i % 97 == 5) scales.at(i, j) = std::numeric_limits<float>::quiet_NaN();
        }
    }
    Clustered near(q, d, 100, 1e-3, 28), far(q, d, 100, 1.0, 29, 1e4);
    for (std::int64_t i = 3; i < q; i += 11) near.at(i, i % d) = std::numeric_limits<float>::quiet_NaN();
    for (const char* metric : {"sqeuclidean", "cosine"})
        for (const auto& [what, points] :
             {std::pair{"outlier", &outlier}, {"equal", &equal}, {"one", &one}, {"line", &line}, {"scales", &scales}})
            for (const Clustered* queries : {&near, &far})
                expect_same(points->view(), queries->view(), 10, metric, what);
}

// Elements of every type, and queries that are fewer than a tile list has.
TEST(GpuClusteredSearch, TypesAndFewQueries) {
    const std::int64_t n = 40000, d = 20;
    const Clustered points(n, d, 60, 0.02, 30, 3.0), queries(4000, d, 60, 0.02, 31, 3.0);
    std::vector<double> wide(points.rows.begin(), points.rows.end()), asked(queries.rows.begin(), queries.rows.end());
    std::vector<std::uint8_t> bytes, asked_bytes;
    for (const float x : points.rows) bytes.push_back(static_cast<std::uint8_t>(std::clamp(x * 20, 0.0f, 255.0f)));
    for (const float x : queries.rows)
        asked_bytes.push_back(static_cast<std::uint8_t>(std::clamp(x * 20, 0.0f, 255.0f)));
    expect_same(view(wide.data(), n, d), view(asked.data(), 4000, d), 10, "sqeuclidean", "f64");
    expect_same(view(bytes.data(), n, d), view(asked_bytes.data(), 4000, d), 10, "sqeuclidean", "u8");
    for (const std::int64_t q : {1, 40, 256})
        expect_same(points.view(), view(queries.rows.data(), q, d), 10, "sqeuclidean", "few", false);
    expect_same(points.view(), view(queries.rows.data(), 257, d), 10, "sqeuclidean", "few");
    // Too few pairs for lists of tiles, and no cluster answers a cosine alone.
    expect_same(points.view(), view(queries.rows.data(), 257, d), 10, "cosine", "few", false);
}

// ---- one cluster alone

// What answers of one cluster are there, and that those are the scan's. How many queries are left.
std::int64_t answers(const MatrixView& points, const MatrixView& queries, std::int64_t k, const std::string& metric,
                     const std::string& what) {
    const PreparedFilter filter(points, queries, metric, Path::clustered, "sm_90a");
    const gpu::Chunk& chunk = filter.chunk();
    EXPECT_TRUE(chunk.clusters && chunk.clusters->rows.size() == points.rows) << what;
    if (!chunk.clusters || chunk.clusters->rows.size() == 0) return queries.rows;
    Plan plan;
    plan.path = Path::clustered;
    plan.isa = "sm_90a";
    plan.candidate_capacity = gpu::max_candidates;
    gpu::ClusterAnswers found = gpu::answer_in_clusters(chunk, *chunk.clusters, filter.points->metric,
                                                        {filter.rows.prepared()}, k, plan, nullptr);
    const auto count = static_cast<std::int64_t>(found.totals.wait("answers")[1]);
    std::vector<bool> left(static_cast<std::size_t>(queries.rows));
    for (const std::int64_t i : to_host(found.left.get(), count)) left[static_cast<std::size_t>(i)] = true;
    const auto ids = to_host(found.result.ids.get(), queries.rows * k);
    const Neighbors want = search(points, queries, k, options_of(metric, "exact"));
    for (std::int64_t i = 0; i < queries.rows; ++i)
        for (std::int64_t j = i * k; !left[static_cast<std::size_t>(i)] && j < (i + 1) * k; ++j)
            if (ids[static_cast<std::size_t>(j)] != want.ids[static_cast<std::size_t>(j)]) {
                ADD_FAILURE() << what << ", " << metric << ", query " << i << ": " << ids[static_cast<std::size_t>(j)]
                              << " instead of " << want.ids[static_cast<std::size_t>(j)];
                return queries.rows;
            }
    ::testing::Test::RecordProperty(what + "-" + metric + "-" + std::to_string(k), std::to_string(count) + " left");
    return count;
}

TEST(GpuClusterAnswers, AreTheScans) {
    if (!serves_here()) GTEST_SKIP() << "no sm_90a";
    for (const std::int64_t d : {17, 32, 33, 96, 128, 192}) {
        const std::int64_t n = 40000, q = 700;
        const Clustered points(n, d, 100, 1e-3, 41), near(q, d, 100, 1e-3, 42), far(q, d, 100, 1.0, 43, 20.0);
        const std::string what = "d " + std::to_string(d);
        for (const char* metric : {"sqeuclidean", "euclidean"}) {
            // Of 128 neighbours a bound is taken, of 129 none.
            for (const std::int64_t k : {1, 10, 128, 129, 200})
                EXPECT_LT(answers(points.view(), near.view(), k, metric, what), q / 10) << what << ", k " << k;
            answers(points.view(), far.view(), 10, metric, what + ", far");
        }
        // As many neighbours as a cluster has points, and one more.
        answers(points.view(), near.view(), 400, "sqeuclidean", what);
        EXPECT_EQ(q, answers(points.view(), near.view(), 401, "sqeuclidean", what));
    }
}

// Clusters of one point, of k and of one more or less, of equal points, one of two that lie ever nearer to each other,
// rows that are infinite or NaN; queries in them, between them and without a place.
struct Uneven {
    static constexpr std::int64_t n = 60000, d = 40, q = 3000, k = 10;
    Clustered points{n, d, 150, 1e-3, 44}, queries{q, d, 150, 1e-3, 45};

    explicit Uneven(bool infinite) {
        adversarial::Random random(46);
        const auto copy = [&](Clustered& to, std::int64_t row, std::int64_t from, double offset, double spread) {
            for (std::int64_t j = 0; j < d; ++j)
                to.at(row, j) = points.at(from, j) + static_cast<float>(offset + spread * random.gaussian());
        };
        // Far away they are of clusters that every query reaches.
        const double far = infinite ? 3.0 : 0.02;
        std::int64_t next = 20011;  // rows that are moved: few of each cluster
        const auto row = [&] { return next += 7; };
        for (int size : {1, 1, 1, 9, 10, 11, 12})
            for (int i = 0; i < size; ++i) copy(points, row(), size, far * size, 1e-3);
        for (int i = 0; i < 600; ++i) copy(points, row(), 3, 0, 0);  // ties, more than a list has room for
        for (int i = 0; i < 15; ++i)
            for (int pair = 0; pair < 12; ++pair) copy(points, row(), 30 + pair, 1e-4 * std::pow(2.0, pair), 1e-3);
        for (std::int64_t i = 0; i < 40; ++i) {
            const std::int64_t at = row();
            // What is not covered by the bound may be a candidate of every query.
            points.at(at, i % d) = !infinite || i % 4 == 0 ? std::numeric_limits<float>::quiet_NaN()
                                   : i % 4 == 1            ? std::numeric_limits<float>::infinity()
                                   : i % 4 == 2            ? -std::numeric_limits<float>::infinity()
                                                           : 1e25f;
        }
        for (std::int64_t i = 0; i < 300; ++i) {
            const std::int64_t a = i * 131 % n, b = i * 7001 % n;
            for (std::int64_t j = 0; j < d; ++j) queries.at(i, j) = (points.at(a, j) + points.at(b, j)) / 2;
        }
        for (std::int64_t i = 300; i < 500; ++i) copy(queries, i, i % 13, far * static_cast<double>(i % 13), 1e-3);
        for (std::int64_t i = 500; i < 560; ++i) copy(queries, i, 3, 0, i % 2 ? 0 : 1e-3);
        for (std::int64_t i = 560; i < 900; ++i) copy(queries, i, 30 + i % 12, 5e-5 * std::pow(2.0, i % 12), 1e-3);
        queries.at(900, 3) = std::numeric_limits<float>::quiet_NaN();
        queries.at(901, 4) = std::numeric_limits<float>::infinity();
        queries.at(902, 5) = 1e30f;
    }
};

TEST(GpuClusterAnswers, OfUnevenClusters) {
    if (!serves_here()) GTEST_SKIP() << "no sm_90a";
    for (const bool infinite : {false, true}) {
        const Uneven data(infinite);
        const std::string what = infinite ? "uneven, infinite" : "uneven";
        for (const std::int64_t k : {1, 9, 10, 11, 100}) {
            const std::int64_t left = answers(data.points.view(), data.queries.view(), k, "sqeuclidean", what);
            EXPECT_TRUE(infinite || left < data.q / 2) << k << ": " << left << " left";
            expect_same(data.points.view(), data.queries.view(), k, "sqeuclidean", what);
            expect_same(data.points.view(), data.queries.view(), k, "euclidean", what);
        }
        const Options scan = options_of("euclidean", "exact"), forced = options_of("euclidean", "clustered");
        const Index index(data.points.view(), forced);
        for (const std::int64_t k : {1, 10, 60}) {
            const Neighbors want = graph(data.points.view(), k, scan);
            EXPECT_TRUE(same_answer(want, graph(data.points.view(), k, forced))) << what << ", k " << k;
            EXPECT_TRUE(same_answer(want, index.graph(k, forced))) << what << ", k " << k;
        }
    }
}

// Every element type, queries of another type than the points', columns that are adjacent.
TEST(GpuClusterAnswers, OfAllTypes) {
    if (!serves_here()) GTEST_SKIP() << "no sm_90a";
    const std::int64_t n = 40000, q = 600, d = 70;
    const Clustered points(n, d, 80, 2e-3, 47), queries(q, d, 80, 2e-3, 48);
    const std::vector<double> wide(points.rows.begin(), points.rows.end()),
        asked(queries.rows.begin(), queries.rows.end());
    std::vector<__half> halves;
    for (const float x : points.rows) halves.push_back(__float2half(x));
    const MatrixView narrow{halves.data(), n, d, d, ElementType::f16, Layout::row_major, host_memory};
    answers(view(wide.data(), n, d), view(asked.data(), q, d), 10, "sqeuclidean", "f64");
    answers(points.view(), view(asked.data(), q, d), 10, "sqeuclidean", "f32 and f64");
    answers(narrow, queries.view(), 10, "sqeuclidean", "f16 and f32");
    std::vector<float> columns(points.rows.size());
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < d; ++j)
            columns[static_cast<std::size_t>(j * n + i)] = points.rows[static_cast<std::size_t>(i * d + j)];
    answers({columns.data(), n, d, n, ElementType::f32, Layout::column_major, host_memory}, queries.view(), 10,
            "sqeuclidean", "columns");
}

// Queries unlike the points: after some searches one cluster alone is no longer tried, and the answers stay.
TEST(GpuClusterAnswers, AreNotTriedInVain) {
    if (!serves_here()) GTEST_SKIP() << "no sm_90a";
    const std::int64_t n = 40000, q = 600, d = 32;
    const Clustered points(n, d, 80, 2e-3, 49);
    Clustered between(q, d, 80, 2e-3, 50);
    for (std::int64_t i = 0; i < q; ++i)
        for (std::int64_t j = 0; j < d; ++j)
            between.at(i, j) = (between.at(i, j) + points.rows[static_cast<std::size_t>((i + 1) * d + j)]) / 2;
    const Options forced = options_of("sqeuclidean", "clustered");
    const Index index(points.view(), forced);
    const Neighbors want = search(points.view(), between.view(), 10, options_of("sqeuclidean", "exact"));
    std::vector<double> candidates;
    for (int i = 0; i < 20; ++i) {
        const Neighbors got = index.search(between.view(), 10, forced);
        EXPECT_TRUE(same_answer(want, got));
        EXPECT_EQ(q, got.report.certified + got.report.retried + got.report.scanned);
        candidates.push_back(got.report.candidates);
    }
    // In vain: the first, and one search in sixteen.
    const double least = *std::ranges::min_element(candidates);
    EXPECT_EQ(2, std::ranges::count_if(candidates, [&](double x) { return x > least + 100.0 * q; }));
    EXPECT_LT(least, candidates.front());
}

// Whatever call of CUDA fails while some queries are answered by one cluster and others are filtered, in the order of
// the clusters: the search throws, or its answers are the scan's.
TEST(GpuClusterAnswers, AfterEveryFailureOfCuda) {
    using gpu::InjectedFault;
    if (!serves_here()) GTEST_SKIP() << "no sm_90a";
    const std::int64_t n = 40000, q = 1000, d = 32;
    const Clustered points(n, d, 80, 2e-3, 54);
    Clustered queries(q, d, 80, 2e-3, 55);
    // Halfway between two clusters, more than one list of tiles serves.
    for (std::int64_t i = 0; i < 400; ++i)
        for (std::int64_t j = 0; j < d; ++j)
            queries.at(i, j) = (queries.at(i, j) + points.rows[static_cast<std::size_t>((i + 1) * d + j)]) / 2;
    EXPECT_LT(gpu::listed_queries, answers(points.view(), queries.view(), 10, "sqeuclidean", "between"));
    const Options forced = options_of("sqeuclidean", "clustered");
    const Index index(points.view(), forced);
    const Neighbors want = search(points.view(), queries.view(), 10, options_of("sqeuclidean", "exact"));
    std::int64_t answered = 0, thrown = 0;
    bool happened = true;
    for (std::int64_t fault = 0; happened; ++fault) {
        InjectedFault::checks_left = fault;
        try {
            const Neighbors got = index.search(queries.view(), 10, forced);
            happened = InjectedFault::checks_left < 0;
            InjectedFault::checks_left = InjectedFault::none;
            ++answered;
            ASSERT_TRUE(same_answer(want, got)) << "fault " << fault;
        } catch (const Error& error) {
            InjectedFault::checks_left = InjectedFault::none;
            ASSERT_EQ(ErrorCode::out_of_memory, error.code()) << "fault " << fault << ": " << error.what();
            ++thrown;
        }
    }
    EXPECT_LT(20, answered);
    EXPECT_LT(0, thrown);
}

// Large clusters answer alone where their points are too near to each other for the filter, and where lists hold the
// keys.
TEST(GpuClusterAnswers, OfLargeClusters) {
    if (!serves_here()) GTEST_SKIP() << "no sm_90a";
    const std::int64_t n = 1 << 18, d = 32;
    for (const auto& [spread, alone] : {std::pair{1e-4, true}, {0.2, false}}) {
        const Clustered points(n, d, 40, spread, 57);
        const PreparedFilter filter(points.view(), view(points.rows.data(), 1, d), "sqeuclidean", Path::clustered,
                                    "sm_90a");
        ASSERT_TRUE(filter.chunk().clusters);
        const gpu::Clusters& clusters = *filter.chunk().clusters;
        ASSERT_EQ(alone ? n : 0, clusters.rows.size()) << spread;
        if (!alone) continue;
        EXPECT_EQ(40, clusters.view.count);
        EXPECT_TRUE(gpu::answers_in_clusters(clusters, n, 1000, 100, gpu::max_candidates));
        EXPECT_TRUE(gpu::answers_in_clusters(clusters, n, 1000, 200, gpu::max_candidates));
        EXPECT_FALSE(gpu::answers_in_clusters(clusters, n, 1000, 200, 4096));
        EXPECT_FALSE(gpu::answers_in_clusters(clusters, n, 256, 10, gpu::max_candidates));
    }
}

// Where all points are one cluster or two, none answers alone; the queries are too few for lists of tiles.
TEST(GpuClusterAnswers, OfOneCluster) {
    if (!serves_here()) GTEST_SKIP() << "no sm_90a";
    const std::int64_t n = 40000, q = 600, d = 32;
    for (const double spread : {0.0, 1e-3, 1.0}) {
        const Clustered one(n, d, 1, spread, 51), two(n, d, 2, spread, 52), queries(q, d, 2, spread, 53);
        expect_same(one.view(), queries.view(), 10, "sqeuclidean", "one", false);
        expect_same(two.view(), queries.view(), 10, "sqeuclidean", "two", false);
    }
}

TEST(GpuClusteredSearch, GraphsAndIndexes) {
    const std::int64_t n = 30000, d = 48;
    const Clustered points(n, d, 150, 1e-2, 32), queries(9000, d, 150, 1e-2, 33);
    const auto want = graph(points.view(), 9, options_of("euclidean", "exact"));
    EXPECT_TRUE(same_answer(want, graph(points.view(), 9, options_of("euclidean", "clustered"))));
    const Options forced = options_of("euclidean", "clustered");
    const Index index(points.view(), forced);
    EXPECT_TRUE(same_answer(want, index.graph(9, forced)));
    const auto all = search(points.view(), queries.view(), 12, options_of("euclidean", "exact"));
    // Whatever filters in its place, the points lie in the order of the clusters.
    for (const char* path : {"clustered", "", "gemm-f16", "direct-f32", "exact"}) {
        const auto found = index.search(queries.view(), 12, options_of("euclidean", path));
        EXPECT_TRUE(same_answer(all, found)) << path;
    }
    for (const std::int64_t q : {1, 5, 400}) {
        const MatrixView some = view(queries.rows.data(), q, d);
        EXPECT_TRUE(same_answer(search(points.view(), some, 12, options_of("euclidean", "exact")),
                                index.search(some, 12, options_of("euclidean", ""))))
            << q;
    }
    // Within a radius that a query's own cluster is in: of few queries and of many.
    for (const std::int64_t q : {50, 4000}) {
        const auto some = view(queries.rows.data(), q, d);
        const RadiusNeighbors of_points = radius(points.view(), some, 0.2, options_of("euclidean", "gemm-f16")),
                              of_index = index.radius(some, 0.2, options_of("euclidean", ""));
        EXPECT_GT(of_points.ids.size(), static_cast<std::size_t>(100 * q));
        EXPECT_EQ(of_points.offsets, of_index.offsets);
        EXPECT_EQ(of_points.ids, of_index.ids);
        EXPECT_EQ(of_points.distances, of_index.distances);
    }
    // As many neighbours as leave lists of a run of positions too short.
    const auto one = view(queries.rows.data(), 1, d);
    EXPECT_TRUE(same_answer(search(points.view(), one, 400, options_of("euclidean", "exact")),
                            index.search(one, 400, options_of("euclidean", ""))));
}

// More queries than a tile has, searched by several threads at once.
TEST(GpuClusteredSearch, ManyQueriesAndThreads) {
    const std::int64_t n = 20000, d = 16, q = 70000;
    const Clustered points(n, d, 90, 1e-2, 37), queries(q, d, 90, 1e-2, 38);
    const Options forced = options_of("sqeuclidean", "clustered");
    const Neighbors want = search(points.view(), queries.view(), 5, options_of("sqeuclidean", "gemm-f16"));
    const Index index(points.view(), forced);
    std::vector<std::jthread> threads;
    for (int t = 0; t < 3; ++t)
        threads.emplace_back([&] {
            const Neighbors got = index.search(queries.view(), 5, forced);
            EXPECT_TRUE(same_answer(want, got));
            EXPECT_EQ(serves_here() ? "clustered" : "gemm-f16", got.report.path);
        });
}

// An Index of points in clusters finds them; of others it does not, and searches as before.
TEST(GpuClusteredSearch, IsChosenByASample) {
    if (!serves_here()) GTEST_SKIP() << "no sm_90a";
    Options options = options_of("sqeuclidean", "");
    const std::int64_t n = 1 << 18, d = 32;
    const Clustered with(n, d, 300, 1e-2, 34), without(n, d, 1, 1.0, 35), queries(2000, d, 300, 1e-2, 36);
    const Index some(with.view(), options), none(without.view(), options);
    const auto found = some.search(queries.view(), 10, options), plain = none.search(queries.view(), 10, options);
    EXPECT_EQ("clustered", found.report.path);
    EXPECT_EQ("gemm-f16", plain.report.path);
    EXPECT_EQ("gemm-f16", some.search(view(queries.rows.data(), 7, d), 10, options).report.path);
    options.path = "gemm-f16";
    EXPECT_TRUE(same_answer(search(with.view(), queries.view(), 10, options), found));
    EXPECT_TRUE(same_answer(search(without.view(), queries.view(), 10, options), plain));
}

}  // namespace
