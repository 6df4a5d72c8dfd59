// Stages between a pass along few directions and the rows of all coordinates: no candidate within a threshold is left
// out, most of the others are, and searches are held to the bits of those by all coordinates.
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "filter_values.h"
#include "gpu/filter/levels.h"
#include "gpu/filter/rescore/reread.h"
#include "gpu/filter/tuning.h"
#include "gpu/points/pca/projection.h"
#include "gpu/points/tuning.h"
#include "gpu/search/passes/projected_tuning.h"
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

// The values of all pairs by all coordinates of the filter, and of each query the largest sum of their terms' sizes.
struct PairValues {
    std::vector<double> value, scale;

    explicit PairValues(const PreparedFilter& filter) {
        const gpu::FilterVectors& all = filter.chunk().filter;
        const std::int64_t n = filter.n, q = filter.q, width = all.form.width;
        const std::vector<__half> u = to_host(filter.vectors.get(), q * width),
                                  v = to_host(reinterpret_cast<const __half*>(all.vectors.get()), n * width);
        const std::vector<float> h = to_host(all.half_norm.get(), n);
        std::vector<double> wide_v(v.size());
        std::ranges::transform(v, wide_v.begin(), [](__half x) { return static_cast<double>(__half2float(x)); });
        value.resize(static_cast<std::size_t>(q * n));
        scale.resize(static_cast<std::size_t>(q));
        for (std::int64_t i = 0; i < q; ++i)
            for (std::int64_t p = 0; p < n; ++p) {
                double sum = h[static_cast<std::size_t>(p)], size = std::abs(sum);
                for (std::int64_t j = 0; std::isfinite(sum) && j < width; ++j) {
                    const double term = static_cast<double>(__half2float(u[static_cast<std::size_t>(i * width + j)])) *
                                        wide_v[static_cast<std::size_t>(p * width + j)];
                    sum -= term;
                    size += std::abs(term);
                }
                value[static_cast<std::size_t>(i * n + p)] = sum;
                if (std::isfinite(size))
                    scale[static_cast<std::size_t>(i)] = std::max(scale[static_cast<std::size_t>(i)], size);
            }
    }
    // Of a query's points, the one of that rank, 0 to 1, among the finite ones; 0 where there are none.
    float at_rank(std::int64_t query, std::int64_t n, double rank) const {
        std::vector<double> sorted(value.begin() + query * n, value.begin() + (query + 1) * n);
        std::erase_if(sorted, [](double x) { return !std::isfinite(x); });
        std::ranges::sort(sorted);
        return sorted.empty() ? 0.0f
                              : static_cast<float>(
                                    sorted[static_cast<std::size_t>(rank * static_cast<double>(sorted.size() - 1))]);
    }
};

struct Counts {
    double within = 0, passed = 0, left = 0;  // pairs, of the lowest thresholds
};

// Rows are read part by part, of so many points, of those in [first, end) alone.
struct Parts {
    std::int64_t points = 0, first = 0, end = std::numeric_limits<std::int64_t>::max();
    bool contain(std::int64_t point) const { return point >= first && point < end; }
};

// All points as candidates with the values of a pass, of which the lists must keep those within thresholds of rank
// `rank` by all coordinates; and how many the stages alone leave, as thresholds of all coordinates that nothing is
// beyond show. So many stages are made; `all_columns`: with as many columns as they may have.
Counts attack(const Spectrum& points, const Spectrum& queries, const std::string& metric, int stages,
              const std::string& what, const Parts& parts = {}, bool all_columns = true) {
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
    for (int stage = 0; stage < stages; ++stage) {
        const std::int64_t most = gpu::tuning::columns_with_stages(directions.columns, stage + 1, form.width) -
                                  gpu::tuning::columns_with_stages(directions.columns, stage, form.width),
                           count = directions.further[stage].count;
        // A column of which too little is left beside those before has no direction of its own.
        EXPECT_GE(most, count) << what << ", " << metric;
        EXPECT_LT(all_columns ? most - 1 : most / 4, count) << what << ", " << metric;
    }
    const std::int64_t padded = gpu::whole_tiles(n);
    gpu::Buffer<__half> vectors(q * directions.form.width, nullptr);
    gpu::Buffer<float> error(q, nullptr), values(q * padded, nullptr), wanted(q, nullptr), threshold(q, nullptr);
    Stages of_projection(*projected, filter);
    of_projection.read_by_parts(parts.points, parts.first, std::min(parts.end, n));
    gpu::project_queries(directions, filter.vectors.get(), q, vectors.get(), error.get(), of_projection.rows, nullptr);
    gpu::FilterPass pass = filter.pass();
    pass.queries = vectors.get();
    pass.points = projected->vectors.get();
    pass.half_norm = projected->half_norm.get();
    pass.width = directions.form.width;
    pass.all = values.get();
    pass.ld = padded;
    gpu::sweep(pass, instruction_sets().back(), nullptr);
    const std::vector<float> few = to_host(values.get(), q * padded);
    const std::vector<std::uint8_t> unfits = to_host(filter.unfit.get(), q);
    const PairValues pairs(filter);
    const std::vector<double>&value = pairs.value, &scale = pairs.scale;
    const gpu::Buffer<gpu::Candidate> found(q * n, nullptr);
    const gpu::Buffer<std::int32_t> found_counts(q, nullptr);
    for (const double rank : {0.0, 0.01, 0.2, 0.9}) {
        std::vector<float> own(static_cast<std::size_t>(q));
        for (std::int64_t i = 0; i < q; ++i) own[static_cast<std::size_t>(i)] = pairs.at_rank(i, n, rank);
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
                    if (!(a <= passes[static_cast<std::size_t>(i)]) || !parts.contain(p)) continue;
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
                    EXPECT_LE(times, parts.contain(p) ? 1 : 0);
                    if (!parts.contain(p)) continue;
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
    const Spectrum near(21, falling(d, 0.7), 13), far(21, std::vector<double>(d, 1.0), 14, 20.0),
        in_units = spectrum::units(21, d, 15);
    const auto all = spectrum::against_directions(2300, d);
    for (const char* metric : {"sqeuclidean", "cosine", "inner_product"})
        for (const auto& [what, points] : all)
            for (const Spectrum* ask : {&near, &far, &in_units}) {
                if (ask == &in_units && what != "units") continue;
                const Counts counts = attack(points, *ask, metric, 1, what, {}, what != "units");
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
            for (const std::int64_t q : {1, 40, 65, 600, 2500}) {
                const MatrixView some = view(queries.rows.data(), q, queries.d);
                const auto want = all.search(some, k, options_of(metric, "gemm-f16"));
                const auto got = few.search(some, k, options_of(metric, "projected"));
                EXPECT_TRUE(same_answer(want, got)) << metric << ", k " << k << ", q " << q;
                EXPECT_EQ("projected", got.report.path) << metric;
                EXPECT_GE(got.report.certified, q - q / 50) << metric << ", k " << k;
            }
    }
}

// Parts with no candidate of a query, with some, with more than a warp gathers at once, and with all. Of fewer queries
// than have parts rows are read as if there were none.
TEST(GpuFurther, PartByPartOfThePoints) {
    constexpr std::int64_t n = 2300, d = 560;
    const Spectrum points(n, falling(d, 0.7), 23), queries(70, falling(d, 0.7), 24), few(9, falling(d, 0.7), 25);
    for (const Parts& parts : {Parts{1, 0, n}, Parts{100, 0, n}, Parts{1024, 0, n}, Parts{n, 0, n}, Parts{5000, 0, n},
                               Parts{700, 300, 2100}, Parts{450, 1, 1801}}) {
        const std::string what = "parts of " + std::to_string(parts.points) + " from " + std::to_string(parts.first);
        attack(points, queries, "sqeuclidean", 1, what, parts);
        attack(points, few, "sqeuclidean", 2, what, parts);
    }
}

// Queries of which some points are in the lists, others candidates of a pass.
class FallingThresholds {
public:
    explicit FallingThresholds(std::int64_t q)
        : points_(1000, falling(320, 0.7), 41),
          queries_(q, falling(320, 0.7), 42),
          filter_(points_.view(), queries_.view(), "sqeuclidean", Path::gemm_f16),
          projected_(gpu::find_projection(filter_.chunk().filter, filter_.n,
                                          {.directions = true,
                                           .always = true,
                                           .columns = gpu::tuning::pass_columns.front(),
                                           .least_stages = 2,
                                           .most_stages = 2},
                                          nullptr)),
          stages_(projected_.value(), filter_),
          error_(q, nullptr),
          pairs_(filter_) {
        const std::int64_t padded = gpu::whole_tiles(filter_.n);
        const gpu::Buffer<__half> vectors(q * projected_->directions.form.width, nullptr);
        const gpu::Buffer<float> values(q * padded, nullptr);
        gpu::project_queries(projected_->directions, filter_.vectors.get(), q, vectors.get(), error_.get(),
                             stages_.rows, nullptr);
        gpu::FilterPass pass = filter_.pass();
        pass.queries = vectors.get();
        pass.points = projected_->vectors.get();
        pass.half_norm = projected_->half_norm.get();
        pass.width = projected_->directions.form.width;
        pass.all = values.get();
        pass.ld = padded;
        gpu::sweep(pass, instruction_sets().back(), nullptr);
        few_ = to_host(values.get(), q * padded);
    }

    // Of thresholds of that rank, or the largest where it is above 1: what is within those that they fall to stays, and
    // these are no lower than `order` values. Returns of how many queries they fell, and how many pairs were left out.
    std::pair<int, int> fall(int order, double rank) {
        const std::int64_t n = filter_.n, q = filter_.q, padded = gpu::whole_tiles(n);
        std::vector<float> first(static_cast<std::size_t>(q), std::numeric_limits<float>::max());
        for (std::int64_t i = 0; i < q && rank <= 1; ++i)
            first[static_cast<std::size_t>(i)] = pairs_.at_rank(i, n, rank);
        const gpu::Buffer<float> of_all(q, nullptr), threshold(q, nullptr);
        fill(of_all, first);
        gpu::projected_thresholds(projected_->directions, of_all.get(), error_.get(), nullptr, q, threshold.get(),
                                  nullptr);
        const std::vector<float> passes = to_host(threshold.get(), q);
        Stages::Listed before{std::vector<gpu::Candidate>(static_cast<std::size_t>(q * n)),
                              std::vector<std::int32_t>(static_cast<std::size_t>(q))},
            found = before;
        for (std::int64_t i = 0; i < q; ++i)
            for (std::int64_t p = 0; p < asked; ++p) {
                const auto at = static_cast<std::size_t>(i);
                const bool listed = p % 2 == 0;
                const float a =
                    listed ? static_cast<float>(value(i, p)) : few_[static_cast<std::size_t>(i * padded + p)];
                if (a > (listed ? first : passes)[at]) continue;
                Stages::Listed& to = listed ? before : found;
                to.candidates[static_cast<std::size_t>(i * n + to.counts[at]++)] = {a, static_cast<std::uint32_t>(p)};
            }
        const gpu::Buffer<gpu::Candidate> on_device(q * n, nullptr);
        const gpu::Buffer<std::int32_t> counts(q, nullptr);
        fill(on_device, found.candidates);
        fill(counts, found.counts);
        const Stages::Listed left =
            stages_.left(on_device.get(), counts.get(), threshold.get(), of_all.get(), &before, order);
        const std::vector<float> last = to_host(of_all.get(), q);
        int fallen = 0, left_out = 0;
        for (std::int64_t i = 0; i < q; ++i) {
            const auto at = static_cast<std::size_t>(i);
            EXPECT_LE(last[at], first[at]);
            fallen += last[at] < first[at];
            std::vector<int> times(static_cast<std::size_t>(n));
            for (std::int32_t c = 0; c < left.counts[at]; ++c)
                ++times.at(left.candidates[static_cast<std::size_t>(i * n + c)].point);
            const double rounding = 1e-4 * pairs_.scale[at];
            int within = 0;
            for (std::int64_t p = 0; p < asked; ++p) {
                const double x = value(i, p);
                const int there = times[static_cast<std::size_t>(p)];
                EXPECT_LE(there, 1);
                if (x <= static_cast<double>(last[at]) - rounding) {
                    EXPECT_EQ(1, there) << "order " << order << ", query " << i << ", point at " << p;
                }
                within += x <= static_cast<double>(last[at]);
                left_out += x <= static_cast<double>(first[at]) - rounding && there == 0;
            }
            if (last[at] < first[at]) {
                EXPECT_GE(within, order) << "query " << i;
            }
            if (testing::Test::HasFailure()) break;
        }
        return {fallen, left_out};
    }

private:
    static constexpr std::int64_t asked = 250;  // points that are in the lists or may be candidates
    double value(std::int64_t query, std::int64_t point) const {
        return pairs_.value[static_cast<std::size_t>(query * filter_.n + point)];
    }
    Spectrum points_, queries_;
    PreparedFilter filter_;
    std::optional<gpu::ProjectedVectors> projected_;
    Stages stages_;
    gpu::Buffer<float> error_;
    PairValues pairs_;
    std::vector<float> few_;
};

TEST(GpuFurther, ThresholdsThatFallLeaveNothingOut) {
    constexpr std::int64_t q = 1030;
    FallingThresholds many(q);
    for (const int order : {1, 12, 30}) {
        const auto [fallen, left_out] = many.fall(order, 0.3);
        EXPECT_GT(fallen, q / 2) << "order " << order;
        EXPECT_GT(left_out, 0) << "order " << order;
    }
    EXPECT_GT(many.fall(40, 2).first, q / 2) << "where f32 holds no higher threshold";
    EXPECT_GT(many.fall(128, 2).first, q / 2);
    EXPECT_EQ((std::pair{0, 0}), many.fall(129, 2)) << "no more are compared";
    FallingThresholds few(9);
    EXPECT_GT(few.fall(4, 0.3).first, 0);
}

// Ranges that L2 does not hold, of many queries.
TEST(GpuFurtherSearch, ManyQueriesPartByPart) {
    constexpr std::int64_t n = 70000, d = 2048, q = 1100, k = 40;
    const Spectrum points(n, falling(d, 0.7), 61), queries(q, falling(d, 0.7), 62);
    const auto want = Index(points.view(), options_of("sqeuclidean", "gemm-f16"))
                          .search(queries.view(), k, options_of("sqeuclidean", "gemm-f16"));
    const auto got = Index(points.view(), options_of("sqeuclidean", "projected"))
                         .search(queries.view(), k, options_of("sqeuclidean", "projected"));
    EXPECT_TRUE(same_answer(want, got));
    EXPECT_EQ("projected", got.report.path);
    EXPECT_GE(got.report.certified, q - q / 50);
}

// A query in shared memory beside what orders candidates.
TEST(GpuFurther, RowsMayBeVeryLong) {
    constexpr std::int64_t d = gpu::tuning::most_projected_width;
    const Spectrum points(1200, falling(d, 0.7), 51), queries(3, falling(d, 0.7), 52);
    attack(points, queries, "sqeuclidean", 1, "very long rows");
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
