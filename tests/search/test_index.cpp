// Index: the same answers as one-shot searches, from several threads at once, after the caller's points are gone.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "cpu/filter/panels.h"
#include "cpu/points/points.h"
#include "exact/report/progress.h"
#include "search_cases.h"
#include "spectrum.h"

namespace {

class IndexOfMetric : public testing::TestWithParam<std::string> {};

TEST_P(IndexOfMetric, EqualsOneShot) {
    std::uint64_t turn = 0;
    for (const char* data : {"gaussian", "integers", "clusters", "nan_rows"}) {
        for (const auto type : arrays::element_types) {
            const auto all = variants(GetParam(), 19, type);
            const Variant& variant = all[turn % all.size()];
            auto c =
                search_cases::make_case(variant, data, {150, 9, 19, 8}, type, type, arrays::shapes[turn % 3], turn);
            const Truth near = c.truth();
            c.k = 160;
            const Truth far = c.truth();
            const Truth among(variant.name, variant.params, c.points.view, {}, 8, true);
            const kith::Options options = search_cases::options_of("cpu", variant, {}, false);
            auto index = std::make_unique<kith::Index>(c.points.view, options);
            EXPECT_EQ(150, index->size());
            EXPECT_EQ(c.points.view.cols, index->dimensions());
            // The index owns what it needs: points and matrix may go.
            std::fill(c.points.bytes.begin(), c.points.bytes.end(), std::byte{0x55});
            c.points = {};
            if (variant.matrix) std::fill(variant.matrix->begin(), variant.matrix->end(), 1e9);
            const kith::Index moved = std::move(*index);
            index.reset();
            kith::Options f64;
            f64.f64 = turn % 2;
            ASSERT_EQ("", near.difference(moved.search(c.queries.view, 8, f64))) << c.label;
            ASSERT_EQ("", far.difference(moved.search(c.queries.view, 160, f64))) << c.label;
            ASSERT_EQ("", among.difference(moved.graph(8, f64))) << c.label;
            ++turn;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Metric, IndexOfMetric, testing::ValuesIn(metric_names()),
                         [](const auto& info) { return info.param; });

TEST(Index, SearchesFromSeveralThreads) {
    const Variant variant = variants("euclidean", 24, kith::ElementType::f32).front();
    const auto make = [&](std::int64_t k, std::uint64_t) {
        return search_cases::make_case(variant, "clusters", {3000, 31, 24, k}, kith::ElementType::f32,
                                       kith::ElementType::f32, arrays::Shape::dense, 11);
    };
    const auto base = make(1, 0);
    const kith::Index index(base.points.view, search_cases::options_of("cpu", variant, {}, false));
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            const auto c = make(1 + 13 * t, t);
            const Truth truth = c.truth();
            kith::Options options;
            options.threads = 1 + t % 2;
            for (int repeat = 0; repeat < 10; ++repeat) {
                if (!truth.difference(index.search(c.queries.view, c.k, options)).empty()) ++wrong;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(0, wrong);
}

TEST(Index, WritesIntoTheCallersMemory) {
    const float points[] = {0, 10, 20, 30};
    const float queries[] = {19, 1};
    kith::Options options;
    options.device = "cpu";
    const kith::Index index(kith::view(points, 4, 1), options);
    std::int64_t ids[4];
    double distances[4];
    options.f64 = true;
    const kith::Report report =
        index.search_into(kith::view(queries, 2, 1), 2, options, {ids, distances, kith::host_memory});
    EXPECT_EQ((std::vector<std::int64_t>{2, 1, 0, 1}), std::vector<std::int64_t>(ids, ids + 4));
    EXPECT_EQ((std::vector<double>{1, 81, 1, 81}), std::vector<double>(distances, distances + 4));
    EXPECT_EQ(2, report.queries);
    EXPECT_EQ(8, report.pairs);
    index.search_into(kith::view(queries, 2, 1), 2, options, {ids, nullptr, kith::host_memory});
    index.graph_into(1, options, {ids, distances, kith::host_memory});
    EXPECT_EQ((std::vector<std::int64_t>{1, 0, 1, 2}), std::vector<std::int64_t>(ids, ids + 4));
}

// A search that names an instruction set runs with it, whatever the Index was made with.
TEST(Index, TakesTheInstructionSetOfASearch) {
    const spectrum::Spectrum points(3000, spectrum::falling(80, 1.0), 1), queries(100, spectrum::falling(80, 1.0), 2);
    for (int own = 0; own < kith::cpu::isa_count; ++own) {
        const auto made_with = static_cast<kith::cpu::Isa>(own);
        if (!kith::cpu::supported(made_with)) continue;
        kith::Options options;
        options.device = "cpu";
        options.threads = 1;
        options.path = "projected";
        options.isa = kith::cpu::name(made_with);
        const kith::Index index(points.view(), options);
        for (int other = 0; other < kith::cpu::isa_count; ++other) {
            const auto isa = static_cast<kith::cpu::Isa>(other);
            if (!kith::cpu::supported(isa)) continue;
            options.isa = kith::cpu::name(isa);
            const kith::Neighbors want = kith::search(points.view(), queries.view(), 10, options),
                                  got = index.search(queries.view(), 10, options);
            EXPECT_EQ(want.ids, got.ids) << own << ", " << other;
            EXPECT_EQ(want.distances, got.distances) << own << ", " << other;
            EXPECT_EQ(want.report.path, got.report.path) << own << ", " << other;
            EXPECT_EQ(want.report.device, got.report.device) << own << ", " << other;
            // Rows in f32 and in bf16 leave others.
            EXPECT_EQ(want.report.candidates, got.report.candidates) << own << ", " << other;
        }
    }
}

// Panels are those of the instruction set, but for f32, which are alike for all.
TEST(Index, PacksPointsForTheTilesOfEachInstructionSet) {
    using namespace kith;
    const cpu::PairKernels* const pairs = cpu::pair_kernels(cpu::Isa::amx);
    const cpu::ByteKernels *const registers = cpu::byte_kernels(cpu::Isa::amx), *const vectors =
                                                                                    cpu::byte_kernels(cpu::Isa::avx512);
    if (!pairs || !registers || !vectors) GTEST_SKIP() << "no AVX512_BF16 and AVX512_VNNI";
    const spectrum::Spectrum rows(200, spectrum::falling(33, 1.0), 1);
    cpu::Points points;
    points.metric.params.d = 33;
    points.rows = rows.view();
    const std::function<bool(const Progress&)> silent;
    ProgressMeter progress(silent, 0);
    const auto filter = [&](cpu::Isa isa, cpu::Rounding rounding) {
        return points.filter(isa, 1, rounding, progress, true);
    };
    const auto tiles = [&](cpu::Isa isa, cpu::Rounding rounding) {
        return &filter(isa, rounding)->tiles(cpu::tile_kernels(isa));
    };
    EXPECT_EQ(&cpu::pair_kernels(cpu::Isa::avx512)->tiles, tiles(cpu::Isa::avx512, cpu::Rounding::bf16));
    EXPECT_EQ(&pairs->tiles, tiles(cpu::Isa::amx, cpu::Rounding::bf16));
    EXPECT_EQ(17, filter(cpu::Isa::avx512, cpu::Rounding::bf16)->words());
    EXPECT_EQ(32, filter(cpu::Isa::amx, cpu::Rounding::bf16)->words());
    EXPECT_EQ(&vectors->tiles, tiles(cpu::Isa::avx512, cpu::Rounding::bytes));
    EXPECT_EQ(&registers->tiles, tiles(cpu::Isa::amx, cpu::Rounding::bytes));
    EXPECT_EQ(nullptr, filter(cpu::Isa::avx2, cpu::Rounding::bytes));
    EXPECT_EQ(filter(cpu::Isa::avx2, cpu::Rounding::f32), filter(cpu::Isa::amx, cpu::Rounding::f32));
}

// A search on an Index takes the Index's metric: named again it is accepted, another one refused, none stands for it.
TEST(Index, RefusesAnotherMetricOrDevice) {
    const float points[] = {0, 1, 10, 3, 20, 7, 30, 1};
    const auto base = kith::view(points, 4, 2);
    const auto refusal = [&](const kith::Index& index, const kith::Options& options) -> std::string {
        try {
            index.search(base, 2, options);
            EXPECT_NO_THROW(index.graph(1, options));
        } catch (const kith::Error& error) {
            EXPECT_EQ(kith::ErrorCode::invalid_argument, error.code());
            EXPECT_THROW(index.graph(1, options), kith::Error);
            return error.what();
        }
        return "";
    };
    const auto of = [](const kith::Metric& metric) {
        kith::Options options;
        options.device = "cpu";
        options.metric = metric;
        return options;
    };
    const kith::Index cosine(base, of(kith::MetricId::cosine));
    EXPECT_EQ("", refusal(cosine, {}));
    EXPECT_EQ("", refusal(cosine, of(kith::MetricId::cosine)));
    EXPECT_EQ("metric: euclidean; this index was prepared for cosine", refusal(cosine, of(kith::MetricId::euclidean)));
    EXPECT_EQ("metric: sqeuclidean; this index was prepared for cosine",
              refusal(cosine, of(kith::MetricId::sqeuclidean)));
    EXPECT_EQ("metric: sqeuclidean; this index was prepared for cosine",
              refusal(cosine, of(kith::metric_named("l2sq"))));
    kith::Options by_id;
    by_id.metric.id = kith::MetricId::hamming;
    EXPECT_NE("", refusal(cosine, by_id));
    kith::Options elsewhere;
    elsewhere.device = "cuda";
    EXPECT_EQ("device: 'cuda'; this index was prepared on cpu", refusal(cosine, elsewhere));

    kith::Metric cubic = kith::MetricId::minkowski, quartic = cubic;
    cubic.p = 3;
    quartic.p = 4;
    const kith::Index minkowski(base, of(cubic));
    EXPECT_EQ("", refusal(minkowski, of(cubic)));
    EXPECT_NE("", refusal(minkowski, of(quartic)));

    const double matrix[] = {2, 0.5, 0.5, 1}, other[] = {2, 0.5, 0.5, 2};
    kith::Metric given = kith::MetricId::mahalanobis, another = given;
    given.inverse_covariance = kith::view(matrix, 2, 2);
    another.inverse_covariance = kith::view(other, 2, 2);
    const kith::Index mahalanobis(base, of(given));
    EXPECT_EQ("", refusal(mahalanobis, of(given)));
    EXPECT_EQ("", refusal(mahalanobis, of(kith::MetricId::mahalanobis)));
    EXPECT_NE("", refusal(mahalanobis, of(another)));
    const kith::Index estimated(base, of(kith::MetricId::mahalanobis));
    const std::vector<double> estimate = kith::inverse_covariance(base);
    given.inverse_covariance = kith::view(estimate.data(), 2, 2);
    EXPECT_EQ("", refusal(estimated, of(given)));

    const double ones[] = {1, 1}, twos[] = {1, 2};
    given = another = kith::MetricId::seuclidean;
    given.variances = kith::view(ones, 2, 1);
    another.variances = kith::view(twos, 1, 2);
    const kith::Index seuclidean(base, of(given));
    EXPECT_EQ("", refusal(seuclidean, of(given)));
    EXPECT_EQ("", refusal(seuclidean, of(kith::MetricId::seuclidean)));
    EXPECT_NE("", refusal(seuclidean, of(another)));
    const kith::Index of_points(base, of(kith::MetricId::seuclidean));
    const std::vector<double> variances = kith::variances(base);
    given.variances = kith::view(variances.data(), 2, 1);
    EXPECT_EQ("", refusal(of_points, of(given)));

    kith::Metric blocks = kith::MetricId::formula, squares = blocks;
    blocks.formula = "a + fabs(q - x)";
    squares.formula = "a + (q - x) * (q - x)";
    const kith::Index formula(base, of(blocks));
    EXPECT_EQ("", refusal(formula, of(blocks)));
    EXPECT_NE("", refusal(formula, of(squares)));
}

// Every query is certified in exactly one way.
TEST(Index, CountsHowQueriesWereCertified) {
    for (const char* data : {"gaussian", "duplicates", "offset", "all_equal"}) {
        const Variant variant = variants("sqeuclidean", 16, kith::ElementType::f32).front();
        const auto c = search_cases::make_case(variant, data, {2000, 50, 16, 5}, kith::ElementType::f32,
                                               kith::ElementType::f32, arrays::Shape::dense, 4);
        for (const char* path : {"exact", "gemm-f32"}) {
            const auto got = search_cases::answer("cpu", c, {path, "", 0, false}, false);
            ASSERT_TRUE(got);
            const kith::Report& r = got->report;
            EXPECT_EQ(50, r.certified + r.retried + r.scanned) << data << ", " << path;
            EXPECT_LE(50 * 5, r.candidates) << data << ", " << path;
            EXPECT_EQ(50 * 2000, r.pairs);
        }
    }
}

// A range of the points is one more in which each query finds its threshold anew.
TEST(Index, SmallSearchesOfManyQueriesCutNoRanges) {
    const Variant variant = variants("sqeuclidean", 16, kith::ElementType::f32).front();
    const auto c = search_cases::make_case(variant, "gaussian", {1000, 100, 16, 10}, kith::ElementType::f32,
                                           kith::ElementType::f32, arrays::Shape::dense, 4);
    const auto got = search_cases::answer("cpu", c, {"gemm-f32", "", 2, false}, false);
    ASSERT_TRUE(got);
    EXPECT_GT(1.5 * 100 * 10, got->report.candidates);
}

}  // namespace
