// Stages between a pass along few directions and the rows of all coordinates: no candidate within a threshold is left
// out, most of the others are, and searches are held to the bits of those by all coordinates.
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "filter_values.h"
#include "gpu/filter/levels.h"
#include "gpu/filter/reread.h"
#include "gpu/points/projection.h"
#include "gpu/points/tuning.h"
#include "gpu/search/tuning.h"
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
using filter_values::instruction_sets;
using filter_values::to_host;
using spectrum::falling;
using spectrum::Spectrum;

template <class T>
void fill(const gpu::Buffer<T>& to, const std::vector<T>& from) {
    gpu_arrays::check(cudaMemcpy(to.get(), from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice));
}

struct Counts {
    double within = 0, passed = 0, left = 0;  // pairs, of the lowest thresholds
};

// All points as candidates with the values of a pass, of which the lists must keep those within thresholds of rank
// `rank` by all coordinates; and how many the stages alone leave, as thresholds of all coordinates that nothing is
// beyond show. So many stages are made.
Counts attack(const Spectrum& points, const Spectrum& queries, const std::string& metric, int stages,
              const std::string& what) {
    const PreparedFilter filter(points.view(), queries.view(), metric, Path::gemm_f16);
    const std::int64_t n = filter.n, q = filter.q;
    const gpu::FilterVectors& all = filter.chunk().filter;
    const gpu::FilterForm& form = all.form;
    const auto projected = gpu::find_projection(all, n,
                                                {.directions = true,
                                                 .always = true,
                                                 .columns = gpu::tuning::pass_columns.front(),
                                                 .least_stages = stages,
                                                 .most_stages = stages},
                                                nullptr);
    Counts counts;
    EXPECT_TRUE(projected) << what;
    if (!projected) return counts;
    const gpu::Directions& directions = projected->directions;
    EXPECT_EQ(stages, directions.stages) << what << ", " << metric;
    if (directions.stages != stages) return counts;
    for (int stage = 0; stage < stages; ++stage)
        EXPECT_EQ(gpu::tuning::columns_with_stages(directions.columns, stage + 1, form.width) -
                      gpu::tuning::columns_with_stages(directions.columns, stage, form.width),
                  directions.further[stage].count)
            << what << ", " << metric;
    const std::int64_t padded = gpu::whole_tiles(n);
    gpu::Buffer<__half> vectors(q * directions.form.width, nullptr);
    gpu::Buffer<float> error(q, nullptr), values(q * padded, nullptr), wanted(q, nullptr), threshold(q, nullptr);
    Stages of_projection(*projected, filter);
    gpu::project_queries(directions, filter.vectors.get(), q, vectors.get(), error.get(), of_projection.rows, nullptr);
    gpu::FilterPass pass = filter.pass();
    pass.queries = vectors.get();
    pass.points = projected->vectors.get();
    pass.half_norm = projected->half_norm.get();
    pass.width = directions.form.width;
    pass.all = values.get();
    pass.ld = padded;
    gpu::filter_pass(pass, instruction_sets().back(), nullptr);
    const std::vector<__half> u = to_host(filter.vectors.get(), q * form.width),
                              v = to_host(reinterpret_cast<const __half*>(all.vectors.get()), n * form.width);
    const std::vector<float> h = to_host(all.half_norm.get(), n), few = to_host(values.get(), q * padded);
    const std::vector<std::uint8_t> unfits = to_host(filter.unfit.get(), q);
    std::vector<double> wide_v(v.size()), value(static_cast<std::size_t>(q * n)), scale(static_cast<std::size_t>(q));
    std::ranges::transform(v, wide_v.begin(), [](__half x) { return static_cast<double>(__half2float(x)); });
    for (std::int64_t i = 0; i < q; ++i)
        for (std::int64_t p = 0; p < n; ++p) {
            double sum = h[static_cast<std::size_t>(p)], size = std::abs(sum);
            for (std::int64_t j = 0; std::isfinite(sum) && j < form.width; ++j) {
                const double term = static_cast<double>(__half2float(u[static_cast<std::size_t>(i * form.width + j)])) *
                                    wide_v[static_cast<std::size_t>(p * form.width + j)];
                sum -= term;
                size += std::abs(term);
            }
            value[static_cast<std::size_t>(i * n + p)] = sum;
            if (std::isfinite(size))
                scale[static_cast<std::size_t>(i)] = std::max(scale[static_cast<std::size_t>(i)], size);
        }
    const gpu::Buffer<gpu::Candidate> found(q * n, nullptr);
    const gpu::Buffer<std::int32_t> found_counts(q, nullptr);
    for (const double rank : {0.0, 0.01, 0.2, 0.9}) {
        std::vector<float> own(static_cast<std::size_t>(q));
        for (std::int64_t i = 0; i < q; ++i) {
            std::vector<double> sorted(value.begin() + i * n, value.begin() + (i + 1) * n);
            std::erase_if(sorted, [](double x) { return !std::isfinite(x); });
            std::ranges::sort(sorted);
            own[static_cast<std::size_t>(i)] =
                sorted.empty() ? 0.0f
                               : static_cast<float>(
                                     sorted[static_cast<std::size_t>(rank * static_cast<double>(sorted.size() - 1))]);
        }
        fill(wanted, own);
        gpu::projected_thresholds(directions, wanted.get(), error.get(), nullptr, q, threshold.get(), nullptr);
        const std::vector<float> passes = to_host(threshold.get(), q);
        // By all coordinates as well, and by the stages alone.
        for (const bool alone : {false, true}) {
            std::vector<gpu::Candidate> candidates(static_cast<std::size_t>(q * n));
            std::vector<std::int32_t> lengths(static_cast<std::size_t>(q));
            for (std::int64_t i = 0; i < q; ++i)
                for (std::int64_t p = 0; p < n; ++p) {
                    const float a = few[static_cast<std::size_t>(i * padded + p)];
                    if (!(a <= passes[static_cast<std::size_t>(i)])) continue;
                    std::int32_t& length = lengths[static_cast<std::size_t>(i)];
                    candidates[static_cast<std::size_t>(i * n + length++)] = {a, static_cast<std::uint32_t>(p)};
                }
            fill(found, candidates);
            fill(found_counts, lengths);
            const auto [have, counted] =
                of_projection.left(found.get(), found_counts.get(), threshold.get(), alone ? nullptr : wanted.get());
            for (std::int64_t i = 0; i < q; ++i) {
                if (unfits[static_cast<std::size_t>(i)] != gpu::fit) continue;
                std::vector<int> there(static_cast<std::size_t>(n));
                for (std::int32_t c = 0; c < counted[static_cast<std::size_t>(i)]; ++c)
                    ++there.at(have[static_cast<std::size_t>(i * n + c)].point);
                const double t = own[static_cast<std::size_t>(i)],
                             rounding = 1e-4 * scale[static_cast<std::size_t>(i)] * (alone ? 0 : 1);
                for (std::int64_t p = 0; p < n; ++p) {
                    const double x = value[static_cast<std::size_t>(i * n + p)];
                    const int times = there[static_cast<std::size_t>(p)];
                    EXPECT_LE(times, 1);
                    // Sums in f32 say otherwise only of values next to the threshold.
                    if (x <= t - rounding || x == -std::numeric_limits<double>::infinity()) {
                        EXPECT_EQ(1, times) << what << ", " << metric << ", rank " << rank << ", query " << i
                                            << ", point at " << p << ": " << x << " within " << t;
                    }
                    if (x == std::numeric_limits<double>::infinity()) {
                        EXPECT_EQ(0, times) << what;
                    }
                    if (testing::Test::HasFailure()) return counts;
                    if (!alone || rank > 0.01) continue;
                    counts.within += x <= t;
                    counts.left += times;
                }
                if (alone && rank <= 0.01) counts.passed += lengths[static_cast<std::size_t>(i)];
            }
        }
    }
    ::testing::Test::RecordProperty(what + "-" + metric, std::to_string(counts.passed / counts.within) + " to " +
                                                             std::to_string(counts.left / counts.within));
    return counts;
}

TEST(GpuFurther, LeaveOutNothingWithin) {
    constexpr std::int64_t d = 560;
    const Spectrum near(21, falling(d, 0.7), 13), far(21, std::vector<double>(d, 1.0), 14, 20.0);
    const auto all = spectrum::against_directions(2300, d);
    for (const char* metric : {"sqeuclidean", "cosine", "inner_product"})
        for (const auto& [what, points] : all)
            for (const Spectrum* ask : {&near, &far}) {
                const Counts counts = attack(points, *ask, metric, 1, what);
                if (HasFailure()) return;
                if (what == "usual" && ask == &near) {
                    EXPECT_LT(counts.left, (metric == std::string("sqeuclidean") ? 0.7 : 1.0) * counts.passed)
                        << metric;
                }
            }
}

TEST(GpuFurther, OneStageAfterTheOther) {
    const Spectrum points(2300, falling(560, 0.7), 21), queries(40, falling(560, 0.7), 22);
    const Counts one = attack(points, queries, "sqeuclidean", 1, "one"),
                 two = attack(points, queries, "sqeuclidean", 2, "two");
    EXPECT_LT(one.left, 0.6 * one.passed);
    EXPECT_LT(two.left, 0.8 * one.left);
    EXPECT_EQ(one.within, two.within);
}

TEST(GpuFurtherSearch, CertifiesAsAllCoordinatesDo) {
    const Spectrum points(60000, falling(560, 0.7), 1), queries(2500, falling(560, 0.7), 2);
    for (const char* metric : {"sqeuclidean", "cosine", "inner_product"}) {
        const Index all(points.view(), options_of(metric, "gemm-f16")),
            few(points.view(), options_of(metric, "projected"));
        for (const std::int64_t k : {1, 10, 150})
            for (const std::int64_t q : {1, 40, 600, 2500}) {
                const MatrixView some = view(queries.rows.data(), q, queries.d);
                const auto want = all.search(some, k, options_of(metric, "gemm-f16"));
                const auto got = few.search(some, k, options_of(metric, "projected"));
                EXPECT_TRUE(same_answer(want, got)) << metric << ", k " << k << ", q " << q;
                EXPECT_EQ("projected", got.report.path) << metric;
                EXPECT_GE(got.report.certified, q - q / 50) << metric << ", k " << k;
            }
    }
}

// Samples of a search along few directions are shorter; where these do not serve, the rest of the usual ones follows.
TEST(GpuFurtherSearch, ShortenedSamplesServe) {
    constexpr std::int64_t n = 160000, d = 320, q = 600, k = 150;
    const gpu::FilterLevels usual = gpu::filter_levels(n, q, k);
    ASSERT_LT(gpu::tuning::projected_levels(usual, n, k).sample[1], usual.sample[1]);
    const Spectrum points(n, falling(d, 0.7), 31), near(q, falling(d, 0.7), 32),
        far(q, std::vector<double>(d, 1.0), 33, 3.0);
    const Index all(points.view(), options_of("sqeuclidean", "gemm-f16")),
        few(points.view(), options_of("sqeuclidean", "projected"));
    for (const Spectrum* queries : {&near, &far}) {
        const auto want = all.search(queries->view(), k, options_of("sqeuclidean", "gemm-f16"));
        const auto got = few.search(queries->view(), k, options_of("sqeuclidean", "projected"));
        EXPECT_TRUE(same_answer(want, got));
        if (queries != &near) continue;
        EXPECT_EQ("projected", got.report.path);
        EXPECT_GE(got.report.certified, q - q / 50);
    }
}

}  // namespace
