// Numbers of 8 bits on a GPU: no pair within a threshold of fp16's is left out, and searches are held to the oracle and
// to the bits of the scan.
#include <cuda_fp16.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "filter_values.h"
#include "gpu/filter/fused/augmented.h"
#include "gpu/filter/int8/bytes.h"
#include "gpu/points/pca/byte_form.h"
#include "gpu/points/pca/projection.h"
#include "gpu/points/tuning.h"
#include "gpu_arrays.h"
#include "gpu_options.h"
#include "kith/kith.h"
#include "prepared_filter.h"
#include "same_answer.h"
#include "search_cases.h"
#include "spectrum.h"
#include "stages.h"

namespace {

using namespace kith;
using filter_values::to_host;
using search_cases::Execution;
using spectrum::falling;
using spectrum::Spectrum;

bool has_matrix_units() {
    return filter_values::instruction_sets().size() > 1;
}

// ---- the bound

// Every pair whose value h - <u, v> of the rounded vectors of all coordinates is at most a threshold passes, for
// thresholds near those values and for the extremes; points without a value pass always or never.
void attack(const PreparedFilter& filter, const gpu::ProjectedVectors& projected, const std::string& metric,
            const std::string& what) {
    const std::int64_t n = filter.n, q = filter.q;
    const gpu::Chunk& chunk = filter.chunk();
    const gpu::FilterForm& form = filter.form();
    const gpu::Directions& directions = projected.directions;
    ASSERT_TRUE(directions.bytes) << what;
    gpu::Buffer<char> numbers(gpu::vector_bytes(directions.form, q), nullptr);
    gpu::Buffer<float> error(q, nullptr), threshold(q, nullptr), own(q, nullptr);
    gpu::Buffer<gpu::Candidate> found(q * n, nullptr);
    gpu::Buffer<std::int32_t> counts(q, nullptr);
    gpu::Buffer<char> terms(gpu::augmented_query_rows(q) * gpu::byte_terms * gpu::wide_planes, nullptr);
    Stages stages(projected, filter);
    gpu::project_queries(directions, filter.vectors.get(), q, numbers.get(), error.get(), stages.rows, nullptr);
    const gpu::ByteTermRows two = gpu::make_byte_terms(projected, n, 2, nullptr),
                            wide = gpu::make_byte_terms(projected, n, gpu::wide_planes, nullptr);
    if (2 * directions.form.width > gpu::most_augmented_bytes) {
        EXPECT_FALSE(wide) << "no kernel takes them";
    }
    const std::vector<__half> u = to_host(filter.vectors.get(), q * form.width),
                              v = to_host(reinterpret_cast<const __half*>(chunk.filter.vectors.get()), n * form.width);
    const std::vector<float> h = to_host(chunk.filter.half_norm.get(), n);
    const std::vector<std::uint8_t> unfits = to_host(filter.unfit.get(), q);
    std::vector<double> values(static_cast<std::size_t>(q * n));
    std::vector<double> wide_v(v.size());
    std::ranges::transform(v, wide_v.begin(), [](__half x) { return static_cast<double>(__half2float(x)); });
    for (std::int64_t i = 0; i < q; ++i) {
        std::vector<double> wide(static_cast<std::size_t>(form.width));
        for (std::int64_t j = 0; j < form.width; ++j)
            wide[static_cast<std::size_t>(j)] =
                static_cast<double>(__half2float(u[static_cast<std::size_t>(i * form.width + j)]));
        for (std::int64_t p = 0; p < n; ++p) {
            double value = h[static_cast<std::size_t>(p)];
            for (std::int64_t j = 0; std::isfinite(value) && j < form.width; ++j)
                value -= wide[static_cast<std::size_t>(j)] * wide_v[static_cast<std::size_t>(p * form.width + j)];
            values[static_cast<std::size_t>(i * n + p)] = value;
        }
    }
    const float infinity = std::numeric_limits<float>::infinity();
    double needed = 0, passed = 0, beyond = 0;
    int with_terms = 0;
    int fallen = 0;
    for (const double rank : {0.0, 0.002, 0.05, 0.4, 1.0, 2.0, -1.0}) {
        std::vector<float> thresholds(static_cast<std::size_t>(q));
        for (std::int64_t i = 0; i < q; ++i) {
            std::vector<double> sorted(values.begin() + i * n, values.begin() + (i + 1) * n);
            std::erase_if(sorted, [](double x) { return !std::isfinite(x); });
            std::ranges::sort(sorted);
            float& own_threshold = thresholds[static_cast<std::size_t>(i)];
            if (rank < 0) own_threshold = -infinity;
            else if (rank > 1) own_threshold = infinity;
            else if (sorted.empty()) own_threshold = std::nanf("");
            else
                own_threshold = static_cast<float>(sorted[std::min(
                    sorted.size() - 1, static_cast<std::size_t>(rank * static_cast<double>(sorted.size())))]);
        }
        gpu_arrays::check(
            cudaMemcpy(threshold.get(), thresholds.data(), thresholds.size() * sizeof(float), cudaMemcpyHostToDevice));
        gpu::projected_thresholds(directions, threshold.get(), error.get(), nullptr, q, own.get(), nullptr);
        gpu::FilterPass pass = filter.pass();
        pass.queries = numbers.get();
        pass.points = projected.vectors.get();
        pass.half_norm = projected.half_norm.get();
        pass.width = directions.form.width;
        pass.threshold = own.get();
        pass.candidates = found.get();
        pass.counts = counts.get();
        pass.capacity = n;
        pass.says_sums = directions.leaves_some();
        const std::vector<float> of_sums = to_host(own.get(), q);
        pass.format = gpu::Format::int8;
        const gpu::FilterPass plain = pass;
        for (const gpu::ByteTermRows* augmented :
             {static_cast<const gpu::ByteTermRows*>(nullptr), &projected.byte_terms, &two, &wide}) {
            gpu_arrays::check(cudaMemset(counts.get(), 0, static_cast<std::size_t>(q) * sizeof(std::int32_t)));
            const auto full = static_cast<std::int32_t>(n + 1);
            if (augmented) {
                if (!*augmented) continue;
                ++with_terms;
                gpu::augment_byte_queries(reinterpret_cast<const int*>(own.get()), q, augmented->form, full,
                                          counts.get(), terms.get(), nullptr);
                gpu::use_byte_terms(augmented->form, terms.get(), augmented->rows.get(), pass);
            }
            gpu::sweep(pass, gpu::FilterIsa::sm_90a, nullptr);
            const std::vector<gpu::Candidate> all = to_host(found.get(), q * n);
            const std::vector<std::int32_t> lengths = to_host(counts.get(), q);
            // Behind the stages, whatever their values by all coordinates.
            const Stages::Listed left = directions.stages > 0
                                            ? stages.left(found.get(), counts.get(), own.get(), nullptr)
                                            : Stages::Listed{all, lengths};
            for (std::int64_t i = 0; i < q; ++i) {
                if (unfits[static_cast<std::size_t>(i)] != gpu::fit) continue;
                std::vector<int> there(static_cast<std::size_t>(n));
                const std::int32_t length = lengths[static_cast<std::size_t>(i)];
                if (augmented && length >= full) {  // beyond what terms hold: it is tried again
                    ++beyond;
                    continue;
                }
                ASSERT_LE(length, n);
                const int of_sum = std::bit_cast<int>(of_sums[static_cast<std::size_t>(i)]);
                const double own_value = of_sum >= gpu::ByteLimits::everything
                                             ? std::numeric_limits<double>::infinity()
                                             : of_sum * directions.bytes.step * directions.bytes.step;
                for (std::int32_t c = 0; c < length; ++c) {
                    const gpu::Candidate& candidate = all[static_cast<std::size_t>(i * n + c)];
                    ++there.at(candidate.point);
                    // What it says is as far below the threshold as the value is, at least.
                    const double value = values[static_cast<std::size_t>(i * n + candidate.point)],
                                 above = own_value - static_cast<double>(thresholds[static_cast<std::size_t>(i)]);
                    const double says = static_cast<double>(std::bit_cast<int>(candidate.a)) * directions.bytes.step *
                                        directions.bytes.step;
                    if (pass.says_sums && std::isfinite(value) && std::isfinite(above)) {
                        ASSERT_LE(says, value + above) << what << ", " << metric;
                    }
                }
                std::vector<int> stays(static_cast<std::size_t>(n));
                for (std::int32_t c = 0; c < left.counts[static_cast<std::size_t>(i)]; ++c)
                    ++stays.at(left.candidates[static_cast<std::size_t>(i * n + c)].point);
                const float t = thresholds[static_cast<std::size_t>(i)];
                for (std::int64_t p = 0; p < n; ++p) {
                    const double value = values[static_cast<std::size_t>(i * n + p)];
                    const int times = there[static_cast<std::size_t>(p)];
                    ASSERT_LE(times, 1);
                    if (value <= static_cast<double>(t)) {
                        ASSERT_EQ(1, stays[static_cast<std::size_t>(p)]) << what << ", " << metric << ", behind stages";
                        ASSERT_EQ(1, times) << what << ", " << metric << ", query " << i << ", point at " << p
                                            << ", value " << value << ", threshold " << t;
                    }
                    if (value == std::numeric_limits<double>::infinity() || std::isnan(value) || std::isnan(t)) {
                        ASSERT_EQ(0, times) << what << ", " << metric << ", query " << i << ", point at " << p;
                    }
                    needed += value <= static_cast<double>(t);
                    passed += times;
                }
            }
        }
        if (directions.stages == 0 || rank < 0 || rank > 1) continue;
        // While thresholds fall, for so few candidates that all are compared.
        const auto asked = static_cast<std::uint32_t>(std::min(static_cast<double>(n), 30 / std::max(rank, 1e-3)));
        gpu_arrays::check(cudaMemset(counts.get(), 0, static_cast<std::size_t>(q) * sizeof(std::int32_t)));
        gpu::sweep(plain, gpu::FilterIsa::sm_90a, nullptr);
        std::vector<gpu::Candidate> some = to_host(found.get(), q * n);
        std::vector<std::int32_t> lengths = to_host(counts.get(), q);
        for (std::int64_t i = 0; i < q; ++i) {
            const auto first = some.begin() + i * n;
            std::int32_t& length = lengths[static_cast<std::size_t>(i)];
            length = static_cast<std::int32_t>(
                std::remove_if(first, first + length, [&](const gpu::Candidate& c) { return c.point >= asked; }) -
                first);
        }
        gpu_arrays::check(
            cudaMemcpy(found.get(), some.data(), some.size() * sizeof(gpu::Candidate), cudaMemcpyHostToDevice));
        gpu_arrays::check(
            cudaMemcpy(counts.get(), lengths.data(), lengths.size() * sizeof(std::int32_t), cudaMemcpyHostToDevice));
        const Stages::Listed in_order = stages.left(found.get(), counts.get(), own.get(), threshold.get(), nullptr, 3);
        const std::vector<float> last = to_host(threshold.get(), q);
        for (std::int64_t i = 0; i < q; ++i) {
            if (unfits[static_cast<std::size_t>(i)] != gpu::fit) continue;
            std::vector<int> there(static_cast<std::size_t>(n));
            for (std::int32_t c = 0; c < in_order.counts[static_cast<std::size_t>(i)]; ++c)
                ++there.at(in_order.candidates[static_cast<std::size_t>(i * n + c)].point);
            double largest = 0;
            for (std::int64_t p = 0; p < n; ++p)
                if (const double value = values[static_cast<std::size_t>(i * n + p)]; std::isfinite(value))
                    largest = std::max(largest, std::abs(value));
            fallen += last[static_cast<std::size_t>(i)] < thresholds[static_cast<std::size_t>(i)];
            for (std::int64_t p = 0; p < asked; ++p)
                if (values[static_cast<std::size_t>(i * n + p)] <=
                    static_cast<double>(last[static_cast<std::size_t>(i)]) - 1e-3 * largest) {
                    ASSERT_EQ(1, there[static_cast<std::size_t>(p)])
                        << what << ", " << metric << ", query " << i << ", point at " << p << ", in order";
                }
        }
    }
    if (directions.stages > 0 && what.starts_with("usual") && !what.ends_with("-far")) {
        EXPECT_GT(fallen, 0) << what << ", " << metric;
    }
    ::testing::Test::RecordProperty(
        what + "-" + metric,
        std::to_string(passed / needed) + ", " + std::to_string(beyond) + ", " + std::to_string(with_terms));
}

// All coordinates.
void attack(const Spectrum& points, const Spectrum& queries, const std::string& metric, const std::string& what) {
    const PreparedFilter filter(points.view(), queries.view(), metric, Path::gemm_i8, "sm_90a");
    ASSERT_TRUE(filter.chunk().projected) << what;
    attack(filter, *filter.chunk().projected, metric, what);
}

// Directions, with a stage behind them if there are as many columns.
void attack_directions(const Spectrum& points, const Spectrum& queries, const std::string& metric, int columns,
                       const std::string& what) {
    const PreparedFilter filter(points.view(), queries.view(), metric, Path::gemm_f16, "sm_90a");
    const gpu::ProjectionChoices choices{.byte_directions = true, .always = true, .columns = columns};
    const auto projected = gpu::find_projection(filter.chunk().filter, filter.n, choices, nullptr);
    ASSERT_TRUE(projected) << what;
    ASSERT_TRUE(projected->directions.leaves_some()) << what;
    attack(filter, *projected, metric, what);
}

// Whole numbers of a range, as images have them.
Spectrum whole_numbers(std::int64_t n, std::int64_t d, int least, int most, std::uint64_t seed) {
    Spectrum out(n, std::vector<double>(static_cast<std::size_t>(d), 0.0), seed);
    std::mt19937_64 random(seed);
    for (float& x : out.rows)
        x = static_cast<float>(least + static_cast<int>(random() % static_cast<std::uint64_t>(most - least + 1)));
    return out;
}

TEST(GpuGemmI8, LeaveOutNothingWithin) {
    if (!has_matrix_units()) GTEST_SKIP() << "needs compute capability 9.0";
    std::vector<double> flat(130, 1.0), cliff(130, 1e-3), few(130, 0.0);
    std::fill_n(cliff.begin(), 3, 1.0);
    std::fill_n(few.begin(), 5, 1.0);
    Spectrum outlier(1100, flat, 5), huge(1100, flat, 6), tiny(1100, flat, 7), flats(1100, flat, 8),
        cliffs(1100, cliff, 9), offset(1100, flat, 10, 100.0), low(1100, few, 11), usual(1100, falling(130, 0.7), 12),
        axes(1100, flat, 15);
    for (std::int64_t j = 0; j < 130; ++j) {
        outlier.rows[static_cast<std::size_t>(700 * 130 + j)] = j % 2 ? 3e8f : -1e8f;
        for (std::int64_t i = 0; i < 1100; ++i) {
            axes.rows[static_cast<std::size_t>(i * 130 + j)] *= std::pow(static_cast<float>(j + 1), -1.0f);
            if (i % 3 != 0) continue;
            huge.rows[static_cast<std::size_t>(i * 130 + j)] *= 1e3f;
            tiny.rows[static_cast<std::size_t>(i * 130 + j)] *= 1e-4f;
        }
    }
    const Spectrum near(40, falling(130, 0.7), 13), far(40, flat, 14, 20.0);
    for (const char* metric : {"sqeuclidean", "cosine", "inner_product", "hellinger"}) {
        for (const auto& [what, points] : {std::pair{"outlier", &outlier},
                                           {"huge", &huge},
                                           {"tiny", &tiny},
                                           {"flat", &flats},
                                           {"cliff", &cliffs},
                                           {"offset", &offset},
                                           {"low", &low},
                                           {"usual", &usual},
                                           {"axes", &axes}}) {
            Spectrum of = *points, ask = near, beyond = far;
            if (std::string(metric) == "hellinger")
                for (Spectrum* each : {&of, &ask, &beyond})
                    for (float& x : each->rows) x = std::abs(x);
            attack(of, ask, metric, what);
            attack(of, beyond, metric, std::string(what) + "-far");
        }
    }
}

TEST(GpuByteDirections, LeaveOutNothingWithin) {
    if (!has_matrix_units()) GTEST_SKIP() << "needs compute capability 9.0";
    constexpr std::int64_t n = 2300, d = 560;
    const std::vector<double> flat(d, 1.0);
    std::vector<double> few(d, 0.0);
    std::fill_n(few.begin(), 20, 1.0);
    auto all = spectrum::against_directions(n, d);
    all.emplace_back("low", Spectrum(n, few, 11));
    const Spectrum near(24, falling(d, 0.7), 13), far(20, flat, 14, 20.0), in_units = spectrum::units(20, d, 15);
    for (const char* metric : {"sqeuclidean", "cosine", "inner_product"})
        for (const auto& [what, points] : all)
            for (const int columns : {95, 223}) {
                attack_directions(points, near, metric, columns, what + std::to_string(columns));
                if (what == "units")
                    attack_directions(points, in_units, metric, columns, what + std::to_string(columns) + "-in-units");
                attack_directions(points, far, metric, columns, what + std::to_string(columns) + "-far");
                if (HasFailure()) return;
            }
}

// Three K-tiles, whose pipeline takes memory from the warps' lists.
TEST(GpuByteDirections, OfTheMostColumns) {
    if (!has_matrix_units()) GTEST_SKIP() << "needs compute capability 9.0";
    constexpr std::int64_t n = 3000, d = 720;
    constexpr int columns = gpu::tuning::byte_pass_columns.back();
    const Spectrum near(24, falling(d, 0.7), 13), far(20, std::vector<double>(d, 1.0), 14, 20.0);
    for (const auto& [what, points] : spectrum::against_directions(n, d)) {
        attack_directions(points, near, "sqeuclidean", columns, what);
        attack_directions(points, far, "sqeuclidean", columns, what + "-far");
        if (HasFailure()) return;
    }
}

// Whole numbers, and queries that are none; the widths that steps of one K-tile, several, and several with a rest take.
TEST(GpuGemmI8, LeaveOutNothingOfWholeNumbers) {
    if (!has_matrix_units()) GTEST_SKIP() << "needs compute capability 9.0";
    for (const std::int64_t d : {17, 32, 60, 90, 100, 128, 130, 300, 784, 1100}) {
        const Spectrum points = whole_numbers(700, d, 0, 255, static_cast<std::uint64_t>(d)),
                       queries = whole_numbers(140, d, 0, 255, 5), wide = whole_numbers(20, d, -900, 900, 6),
                       between(30, std::vector<double>(static_cast<std::size_t>(d), 60.0), 7, 100.0);
        for (const char* metric : {"sqeuclidean", "inner_product"}) {
            attack(points, queries, metric, "whole-" + std::to_string(d));
            attack(points, wide, metric, "wide-" + std::to_string(d));
            attack(points, between, metric, "between-" + std::to_string(d));
        }
    }
}

// Half norms around products' mean, of which some lie below what wide terms hold; and rows too wide for these, whose
// half norms they would hold.
TEST(GpuGemmI8, LeaveOutNothingOfUncommonHalfNorms) {
    if (!has_matrix_units()) GTEST_SKIP() << "needs compute capability 9.0";
    const std::vector<double> flat(128, 1.0);
    for (const double mean : {6.0, 12.0, 25.0}) {
        const Spectrum points(3000, flat, 31, mean), like(60, flat, 32, mean), unlike(40, flat, 33, -mean);
        attack(points, like, "inner_product", "mean-" + std::to_string(mean));
        attack(points, unlike, "inner_product", "minus-mean-" + std::to_string(mean));
    }
    const Spectrum small = whole_numbers(700, 768, -20, 20, 34), queries = whole_numbers(60, 768, -20, 20, 35);
    attack(small, queries, "sqeuclidean", "small-768");
}

// Half norms above what terms hold are lowered, which lets more pass, if they are few; one below would be raised, and
// there are no terms.
TEST(GpuGemmI8, TermsOfHalfNorms) {
    if (!has_matrix_units()) GTEST_SKIP() << "needs compute capability 9.0";
    constexpr std::int64_t n = 9000;
    const auto has_terms = [&](int planes, const std::vector<int>& others, std::int64_t columns = 128) {
        gpu::ProjectedVectors points;
        points.directions.form.width = gpu::byte_width(columns) / 2;
        points.half_norm = gpu::Buffer<float>(gpu::whole_tiles(n), nullptr);
        std::vector<int> half_norms(static_cast<std::size_t>(gpu::whole_tiles(n)), gpu::ByteLimits::excluded);
        for (std::int64_t i = 0; i < n; ++i) half_norms[static_cast<std::size_t>(i)] = 1000 + static_cast<int>(i % 700);
        std::ranges::copy(others, half_norms.begin() + 4000);
        gpu_arrays::check(cudaMemcpy(points.half_norm.get(), half_norms.data(), half_norms.size() * sizeof(int),
                                     cudaMemcpyHostToDevice));
        return static_cast<bool>(gpu::make_byte_terms(points, n, planes, nullptr));
    };
    const int reach = gpu::ByteTerms{.planes = gpu::wide_planes}.reach(), few = 4, many = 5;
    ASSERT_EQ(few, n / gpu::tuning::one_beyond);
    for (const int planes : {1, 2, gpu::wide_planes}) {
        EXPECT_TRUE(has_terms(planes, {})) << planes;
        EXPECT_FALSE(has_terms(planes, {gpu::ByteLimits::always})) << planes;
        EXPECT_TRUE(has_terms(planes, std::vector<int>(few, 10 * reach))) << planes;
        EXPECT_FALSE(has_terms(planes, std::vector<int>(many, 10 * reach))) << planes;
        EXPECT_FALSE(has_terms(planes, {}, gpu::most_augmented_bytes + 1)) << planes;
    }
    // As low as the highest half norms allow, and no lower half norm is raised.
    EXPECT_TRUE(has_terms(gpu::wide_planes, {1 - reach}));
    EXPECT_TRUE(has_terms(gpu::wide_planes, {-reach}));
    EXPECT_FALSE(has_terms(gpu::wide_planes, {-2 * reach}));
    EXPECT_TRUE(has_terms(1, {-1000}));
}

// Of products at the ends of the range of a byte, as long as rows may be.
TEST(GpuGemmI8, HoldTheLargestSums) {
    if (!has_matrix_units()) GTEST_SKIP() << "needs compute capability 9.0";
    const std::int64_t d = gpu::most_byte_width;
    Spectrum points = whole_numbers(300, d, 0, 1, 1), queries = whole_numbers(20, d, 0, 1, 2);
    for (Spectrum* each : {&points, &queries})
        for (std::int64_t i = 0; i < each->n; ++i)
            for (std::int64_t j = 0; j < d; ++j) {
                float& x = each->rows[static_cast<std::size_t>(i * d + j)];
                x = i % 3 == 0 ? 0 : i % 3 == 1 ? 255 : 255 * x;
            }
    attack(points, queries, "sqeuclidean", "ends");
    attack(points, queries, "inner_product", "ends");
}

// ---- searches

class GpuGemmI8Of : public testing::TestWithParam<std::string> {};

TEST_P(GpuGemmI8Of, AnswerAsTheOracle) {
    if (!has_matrix_units()) GTEST_SKIP() << "needs compute capability 9.0";
    const std::vector<Execution> executions = {{"gemm-i8", "", 0, false}, {"gemm-i8", "", 0, true}};
    if (GetParam() == "mahalanobis")
        search_cases::in_dimensions(GetParam(), {40}, {4300, 3, 0, 0}, {4300, 3, 0, 0}, executions, "cuda");
    else
        search_cases::in_dimensions(GetParam(), {GetParam().size() % 2 ? 30 : 130}, {4300, 12, 0, 0}, {2500, 260, 0, 0},
                                    executions, "cuda");
}

INSTANTIATE_TEST_SUITE_P(Metric, GpuGemmI8Of, testing::ValuesIn(spectrum::product_metrics()),
                         [](const auto& info) { return info.param; });

TEST(GpuGemmI8Search, CertifiesOrdinaryData) {
    if (!has_matrix_units()) GTEST_SKIP() << "needs compute capability 9.0";
    const Spectrum gaussian(60000, std::vector<double>(96, 1.0), 1), turned(60000, falling(96, 0.7), 2),
        whole = whole_numbers(60000, 96, 0, 255, 3);
    for (const Spectrum* points : {&gaussian, &turned, &whole}) {
        for (const char* metric : {"sqeuclidean", "euclidean", "cosine", "inner_product", "correlation"}) {
            for (const std::int64_t q : {1, 40, 600}) {
                const MatrixView some = view(points->rows.data() + 96 * 1000, q, 96);
                const auto want = search(points->view(), some, 10, options_of(metric, "gemm-f16"));
                const auto got = search(points->view(), some, 10, options_of(metric, "gemm-i8"));
                EXPECT_TRUE(same_answer(want, got)) << metric << ", q " << q;
                EXPECT_EQ("gemm-i8", got.report.path) << metric;
                EXPECT_GE(got.report.certified, q - q / 50) << metric;
            }
        }
    }
}

TEST(GpuGemmI8Search, DataAgainstIt) {
    if (!has_matrix_units()) GTEST_SKIP() << "needs compute capability 9.0";
    std::vector<double> flat(140, 1.0), cliff(140, 1e-3);
    cliff[0] = 1;
    Spectrum outlier(9000, flat, 5), equal(9000, std::vector<double>(140, 0.0), 6, 1.0), cliffs(9000, cliff, 7),
        offset(9000, flat, 9, 1000.0), whole = whole_numbers(9000, 140, 0, 255, 3);
    for (std::int64_t j = 0; j < 140; ++j)
        outlier.rows[static_cast<std::size_t>(1024 * 140 + j)] = j % 2 ? 3e8f : -1e8f;
    for (std::int64_t i = 64; i < 9000; ++i) whole.rows[static_cast<std::size_t>(i * 140 + i % 140)] = 1e6f;
    Spectrum near(300, falling(140, 1.0), 10), far(300, flat, 11, 50.0);
    for (std::size_t i = 0; i < 300; i += 7) near.rows[i * 140 + i % 140] = std::numeric_limits<float>::quiet_NaN();
    for (const char* metric : {"sqeuclidean", "cosine", "inner_product"}) {
        for (Spectrum* points : {&outlier, &equal, &cliffs, &offset, &whole}) {
            for (Spectrum* queries : {&near, &far, &cliffs}) {
                const MatrixView some = view(queries->rows.data(), 300, 140);
                EXPECT_TRUE(same_answer(search(points->view(), some, 7, options_of(metric, "exact")),
                                        search(points->view(), some, 7, options_of(metric, "gemm-i8"))))
                    << metric;
            }
        }
    }
}

TEST(GpuGemmI8Search, GraphsAndIndexes) {
    if (!has_matrix_units()) GTEST_SKIP() << "needs compute capability 9.0";
    const Spectrum points(5000, std::vector<double>(130, 1.0), 12);
    const auto want = graph(points.view(), 9, options_of("euclidean", "exact"));
    const Options forced = options_of("euclidean", "gemm-i8");
    const auto got = graph(points.view(), 9, forced);
    EXPECT_TRUE(same_answer(want, got));
    EXPECT_EQ("gemm-i8", got.report.path);
    const Index index(points.view(), forced);
    EXPECT_TRUE(same_answer(want, index.graph(9, forced)));
    for (const std::int64_t q : {1, 5, 400}) {
        const MatrixView some = view(points.rows.data(), q, 130);
        const auto all = search(points.view(), some, 12, options_of("euclidean", "exact"));
        for (const char* path : {"gemm-i8", "projected", "", "gemm-f16", "direct-f32", "exact"})
            EXPECT_TRUE(same_answer(all, index.search(some, 12, options_of("euclidean", path)))) << path;
    }
}

// The planner leaves it to a sample.
TEST(GpuGemmI8Search, IsChosenByASample) {
    if (!has_matrix_units()) GTEST_SKIP() << "needs compute capability 9.0";
    const Options options = options_of("sqeuclidean", "");
    const Spectrum gaussian(1 << 18, std::vector<double>(128, 1.0), 20);
    const Index index(gaussian.view(), options);
    const MatrixView some = view(gaussian.rows.data(), 600, 128);
    const auto got = index.search(some, 5, options);
    EXPECT_EQ("gemm-i8", got.report.path);
    EXPECT_TRUE(same_answer(search(gaussian.view(), some, 5, options_of("sqeuclidean", "gemm-f16")), got));
    const auto within = index.radius(some, 5.0, options);
    EXPECT_GE(within.ids.size(), 600u);
}

}  // namespace
