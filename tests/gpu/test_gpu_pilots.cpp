// What the first queries of a search say of a filter that looks at the points before fp16 does, and what an Index
// remembers of it: whichever filter is taken, the answers are the oracle's.
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "filter_values.h"
#include "gpu/filter/int8/bytes.h"
#include "gpu/filter/levels.h"
#include "gpu/points/pca/projection.h"
#include "gpu/search/passes/projected_pass.h"
#include "gpu/search/tuning.h"
#include "gpu_arrays.h"
#include "gpu_options.h"
#include "kith/kith.h"
#include "prepared_filter.h"
#include "same_answer.h"
#include "spectrum.h"
#include "truth.h"

namespace {

using namespace kith;
using spectrum::falling;
using spectrum::Spectrum;

// Of three neighbours the samples are 1,024 and 4,096 points (filter_levels), and ranges along directions end at 8,192
// and at n: the last has more points than a query has room for.
constexpr std::int64_t n = 24000, d = 256, q = 300, sampled = 4096, k = 3;

// Rows of floats.
struct Data {
    std::vector<float> values;
    std::int64_t rows;
    MatrixView view() const { return kith::view(values.data(), rows, d); }
};

Data copy_of(const Spectrum& spectrum) {
    return {spectrum.rows, spectrum.n};
}

// Whole numbers within +-80, which 8 bits hold less their means, too: half norms spread less than terms reach.
Data whole_numbers(std::int64_t rows, unsigned seed) {
    std::mt19937 random(seed);
    Data out{{}, rows};
    for (std::int64_t i = 0; i < rows * d; ++i)
        out.values.push_back(static_cast<float>(static_cast<int>(random() % 161) - 80));
    return out;
}

// Corners of the cube of +-100, which 8 bits hold less the points' means (of 64 rows: within +-28), too: those of +-127
// would be clipped, for which the bound adds 80,000 to thresholds. Products with the points are so large that
// thresholds lie 90,000 below what terms hold: of the points these pass 2.6 %, and ints 0.08 %, where 0.2 % pay.
Data corners(std::int64_t rows, unsigned seed) {
    std::mt19937 random(seed);
    Data out{{}, rows};
    for (std::int64_t i = 0; i < rows * d; ++i) out.values.push_back(random() % 2 ? 100.0f : -100.0f);
    return out;
}

// Rows of `got` with the oracle, all of them with the bits of another filter.
void expect_true(const Data& points, const Data& queries, std::int64_t neighbours, const Neighbors& got,
                 const std::string& what) {
    constexpr std::int64_t step = 12;
    Data some{{}, 0};
    Neighbors of_some;
    of_some.k = neighbours;
    for (std::int64_t i = 0; i < queries.rows; i += step, ++some.rows) {
        some.values.insert(some.values.end(), queries.values.begin() + i * d, queries.values.begin() + (i + 1) * d);
        of_some.ids.insert(of_some.ids.end(), got.ids.begin() + i * neighbours, got.ids.begin() + (i + 1) * neighbours);
        of_some.distances.insert(of_some.distances.end(), got.distances.begin() + i * neighbours,
                                 got.distances.begin() + (i + 1) * neighbours);
    }
    of_some.queries = some.rows;
    const Truth truth("sqeuclidean", {}, points.view(), some.view(), neighbours);
    EXPECT_EQ("", truth.difference(of_some)) << what;
    EXPECT_TRUE(
        same_answer(search(points.view(), queries.view(), neighbours, options_of("sqeuclidean", "gemm-f16")), got))
        << what;
}

std::string described(const Report& report) {
    std::string text = "certified " + std::to_string(report.certified) + ", retried " + std::to_string(report.retried) +
                       ", scanned " + std::to_string(report.scanned) + ", candidates " +
                       std::to_string(static_cast<long long>(report.candidates));
    for (const Fallback& fallback : report.fallbacks)
        text += "; " + std::to_string(fallback.queries) + ": " + fallback.why;
    return text;
}

// An index whose points have a projection whether it pays or not, and a search for which pilots decide.
struct Tried {
    Data points;
    Index index;

    Tried(Data of, const std::string& path)
        : points(std::move(of)), index(points.view(), options_of("sqeuclidean", path)) {}
    Report search(const Data& queries, std::int64_t neighbours, const std::string& what) const {
        const Neighbors got = index.search(queries.view(), neighbours, options_of("sqeuclidean", ""));
        expect_true(points, queries, neighbours, got, what + ", k " + std::to_string(neighbours));
        return got.report;
    }
    // The same, by the path that follows from how the data were made.
    Report search(const Data& queries, std::int64_t neighbours, const std::string& what,
                  const std::string& path) const {
        const Report report = search(queries, neighbours, what);
        EXPECT_EQ(path, report.path) << what << ", k " << neighbours << ": " << described(report);
        return report;
    }
};

bool has_matrix_units() {
    return filter_values::instruction_sets().size() > 1;
}

// ---- thresholds beyond what terms of bytes hold

std::string described(const gpu::ProjectedPass::Counts& counts, const gpu::ProjectedVectors& vectors) {
    return std::to_string(counts.passed) + " of " + std::to_string(counts.pairs) + " pass, overflowed " +
           std::to_string(counts.overflowed) + ", columns " + std::to_string(vectors.directions.columns) + ", share " +
           std::to_string(vectors.share) + ", base " + std::to_string(vectors.byte_terms.form.base) + ", step " +
           std::to_string(vectors.directions.bytes.step);
}

gpu::Buffer<float> equal_thresholds(double value) {
    const std::vector<float> thresholds(q, static_cast<float>(value));
    gpu::Buffer<float> out(q, nullptr);
    gpu_arrays::check(
        cudaMemcpy(out.get(), thresholds.data(), thresholds.size() * sizeof(float), cudaMemcpyHostToDevice));
    return out;
}

// One threshold of all queries, in ints: where terms hold it, where they are raised to let too many points pass, and
// where they pass nothing, as it lies too high for them.
TEST(GpuPilots, ThresholdsThatTermsDoNotHold) {
    if (!has_matrix_units()) GTEST_SKIP() << "needs compute capability 9.0";
    const Data points = whole_numbers(n, 1);
    struct Case {
        const char* what;
        Data queries;
        std::int64_t above;  // the base
        bool terms_serve, ints_serve;
        double least_of_terms, most_of_terms, least_of_ints, most_of_ints;  // shares that pass
    };
    const std::int64_t reach = gpu::ByteTerms{}.reach();
    for (const Case& c : {Case{"within reach", whole_numbers(q, 3), 10000 - reach, true, true, 0, 0.001, 0, 0.001},
                          // A fortieth of these values lies below what terms hold, and none four times as far below.
                          Case{"low", corners(q, 2), -4 * reach, false, true, 0.01, 0.1, 0, 1e-5},
                          Case{"high", whole_numbers(q, 3), 8 * reach, false, false, 0, 2, 1, 1}}) {
        const PreparedFilter filter(points.view(), c.queries.view(), "sqeuclidean", Path::gemm_i8, "sm_90a");
        ASSERT_TRUE(filter.chunk().projected);
        const gpu::ProjectedVectors& vectors = *filter.chunk().projected;
        ASSERT_TRUE(vectors.byte_terms);
        const double unit = vectors.directions.bytes.step * vectors.directions.bytes.step;
        const gpu::Buffer<float> threshold =
            equal_thresholds(static_cast<double>(vectors.byte_terms.form.base + c.above) * unit);
        gpu::FilterPass pass = filter.pass();
        pass.threshold = threshold.get();
        gpu::ProjectedPass projected(vectors, filter.chunk().filter, pass, gpu::FilterIsa::sm_90a, 10, nullptr);
        const auto expect = [&](bool serves, double least, double most) {
            const gpu::ProjectedPass::Counts counts = projected.count_pilots(sampled);
            const std::string said =
                std::string(c.what) + (projected.uses_terms() ? ", terms: " : ", ints: ") + described(counts, vectors);
            EXPECT_GE(counts.passed, least * counts.pairs) << said;
            EXPECT_LE(counts.passed, most * counts.pairs) << said;
            EXPECT_EQ(serves, projected.serves(sampled)) << said;
            return counts;
        };
        EXPECT_TRUE(projected.uses_terms());
        const gpu::ProjectedPass::Counts of_terms = expect(c.terms_serve, c.least_of_terms, c.most_of_terms);
        EXPECT_EQ(c.above > reach ? gpu::tuning::projected_pilots : 0, of_terms.overflowed) << c.what;
        // Wider ones hold what lies four times as far below, and not what lies eight times as far above.
        const gpu::ByteTermRows* const wide = gpu::terms_of(filter.chunk(), gpu::Learned::four_planes);
        ASSERT_TRUE(wide && *wide);
        projected.take_terms(wide);
        EXPECT_TRUE(projected.uses_terms());
        if (c.above > reach) expect(c.terms_serve, c.least_of_terms, c.most_of_terms);
        else expect(c.ints_serve, c.least_of_ints, c.most_of_ints);
        projected.take_terms(nullptr);
        EXPECT_FALSE(projected.uses_terms());
        const gpu::ProjectedPass::Counts of_ints = expect(c.ints_serve, c.least_of_ints, c.most_of_ints);
        // A range has no more points than that.
        EXPECT_EQ(0, of_ints.overflowed) << c.what;
        EXPECT_LE(of_ints.pairs, static_cast<double>(gpu::tuning::projected_pilots * gpu::tuning::projected_room));
    }
}

// What needs no pilots: few queries, and no points after the samples.
TEST(GpuPilots, FewQueriesAndNoPoints) {
    if (!has_matrix_units()) GTEST_SKIP() << "needs compute capability 9.0";
    const Data points = whole_numbers(n, 1), queries = whole_numbers(q, 3);
    const PreparedFilter filter(points.view(), queries.view(), "sqeuclidean", Path::gemm_i8, "sm_90a");
    ASSERT_TRUE(filter.chunk().projected);
    const gpu::ProjectedVectors& vectors = *filter.chunk().projected;
    const gpu::Buffer<float> threshold = equal_thresholds(-1e6);
    gpu::FilterPass pass = filter.pass();
    pass.threshold = threshold.get();
    const auto serves = [&](std::int64_t queries_of_pass, std::int64_t seen) {
        gpu::FilterPass some = pass;
        some.q = queries_of_pass;
        return gpu::ProjectedPass(vectors, filter.chunk().filter, some, gpu::FilterIsa::sm_90a, 10, nullptr)
            .serves(seen);
    };
    EXPECT_FALSE(serves(gpu::few_queries, sampled));
    EXPECT_FALSE(serves(q, n));
}

TEST(GpuPilots, LowThresholdsLeaveTerms) {
    if (!has_matrix_units()) GTEST_SKIP() << "needs compute capability 9.0";
    const Tried tried(whole_numbers(n, 4), "gemm-i8");
    const Data low = corners(q, 5), usual = whole_numbers(q, 6);
    tried.search(low, k, "low", "gemm-i8");  // ints
    // Of the same index and what has been remembered, ints too: other queries, fewer neighbours and more.
    tried.search(usual, k, "usual after low", "gemm-i8");
    tried.search(usual, k - 1, "usual after low", "gemm-i8");
    tried.search(low, 40, "low after usual");
    tried.search(usual, 40, "usual after low");
    // Terms at first, which queries after the pilots mislead: they pass more, and are right.
    const Tried later(whole_numbers(n, 7), "gemm-i8");
    later.search(usual, k, "usual", "gemm-i8");
    later.search(low, k, "low, where terms have served");
    later.search(usual, k, "usual again");
}

// Queries whose thresholds lie higher than terms reach pass nothing, and are tried again.
TEST(GpuPilots, HighThresholdsAreTriedAgain) {
    if (!has_matrix_units()) GTEST_SKIP() << "needs compute capability 9.0";
    const Tried tried(whole_numbers(n, 8), "gemm-i8");
    // Behind the pilots, so that these find that terms serve.
    Data some = whole_numbers(q, 9);
    constexpr std::int64_t high = 30;
    for (std::int64_t i = q - high; i < q; ++i) some.values[static_cast<std::size_t>(i * d + i % d)] = 1e4f;
    const Report report = tried.search(some, k, "a few high", "gemm-i8");
    EXPECT_GE(report.retried, high) << described(report);
    EXPECT_GE(report.certified, q - high - 10) << described(report);
    EXPECT_EQ(0, report.scanned) << described(report);
    // Among the pilots: neither terms nor ints serve.
    for (std::int64_t i = 0; i < q; ++i) some.values[static_cast<std::size_t>(i * d + i % d)] = 1e4f;
    tried.search(some, k, "all high, where terms have served");
    const Tried fresh(whole_numbers(n, 10), "gemm-i8");
    fresh.search(some, k, "all high", "gemm-f16");
    tried.search(whole_numbers(q, 11), k, "usual after high");
}

// ---- what is remembered

// Points of which 40 directions hold all but a fiftieth, queries like them, and queries in what these leave, of which
// any pair might be near: the product of what both sides leave, 137 to 250, is more than half norms, 20 +- 5, lie above
// thresholds, which are at least -45. All of that fits into fp16.
struct Kinds {
    Data points, like, unlike;
};
Kinds directions() {
    std::vector<double> cliff(d, 0.02), hidden(d, 50.0);
    std::fill_n(cliff.begin(), 40, 1.0);
    std::fill_n(hidden.begin(), 40, 0.0);
    return {copy_of(Spectrum(n, cliff, 20)), copy_of(Spectrum(q, cliff, 21)), copy_of(Spectrum(q, hidden, 22))};
}

TEST(GpuPilots, CountWhatPassesAlongDirections) {
    const Kinds kinds = directions();
    for (const Data* queries : {&kinds.like, &kinds.unlike}) {
        const bool like = queries == &kinds.like;
        const PreparedFilter filter(kinds.points.view(), queries->view(), "sqeuclidean", Path::projected);
        ASSERT_TRUE(filter.chunk().projected);
        EXPECT_EQ(0, std::ranges::count_if(filter_values::to_host(filter.unfit.get(), q),
                                           [](std::uint8_t fitness) { return fitness != gpu::fit; }));
        const gpu::ProjectedVectors& vectors = *filter.chunk().projected;
        // Below all values of queries like the points, of which none is longer than 8.9.
        const double square = filter.form().scale * filter.form().scale;
        const gpu::Buffer<float> threshold = equal_thresholds((like ? -40 : -45) * square);
        gpu::FilterPass pass = filter.pass();
        pass.threshold = threshold.get();
        gpu::ProjectedPass projected(vectors, filter.chunk().filter, pass, gpu::FilterIsa::sm_80, 10, nullptr);
        EXPECT_FALSE(projected.uses_terms());
        const gpu::ProjectedPass::Counts counts = projected.count_pilots(sampled);
        const std::string said = std::string(like ? "like: " : "unlike: ") + described(counts, vectors);
        EXPECT_EQ(like ? 0 : counts.pairs, counts.passed) << said;
        EXPECT_EQ(0, counts.overflowed) << said;
        EXPECT_EQ(like, projected.serves(sampled)) << said;
        // And all points after the first range, of which nobody has room for as many.
        const gpu::ProjectedPass::Counts last = projected.count_pilots(2 * sampled);
        EXPECT_EQ(static_cast<double>(gpu::tuning::projected_pilots * (n - 2 * sampled)), last.pairs) << said;
        EXPECT_EQ(like ? 0 : gpu::tuning::projected_pilots, last.overflowed) << said;
        EXPECT_EQ(like, projected.serves(2 * sampled)) << said;
    }
}

TEST(GpuPilots, RememberThatAProjectionServes) {
    const Kinds kinds = directions();
    const Tried tried(kinds.points, "projected");
    tried.search(kinds.like, k, "like", "projected");
    for (const std::int64_t fewer : {1, 2}) tried.search(kinds.like, fewer, "like again", "projected");
    tried.search(kinds.like, 50, "like again");
    // Not tried, and of no use: retried, or scanned after that.
    const Report misled = tried.search(kinds.unlike, k, "unlike, where it has served", "projected");
    EXPECT_EQ(0, misled.certified) << described(misled);
    // It has been given up for as many neighbours and more, and is tried for fewer.
    tried.search(kinds.like, k, "like after unlike", "gemm-f16");
    tried.search(kinds.like, 50, "like after unlike", "gemm-f16");
    tried.search(kinds.like, 1, "like after unlike", "projected");
}

TEST(GpuPilots, RememberThatAProjectionDoesNotServe) {
    const Kinds kinds = directions();
    const Tried tried(kinds.points, "projected");
    tried.search(kinds.unlike, k, "unlike", "gemm-f16");
    tried.search(kinds.like, k, "like, where it has been refused", "gemm-f16");
    tried.search(kinds.like, 50, "more neighbours", "gemm-f16");
    // Of fewer neighbours it is not known; it serves, and again for as many as before after some searches.
    tried.search(kinds.like, k - 1, "fewer neighbours", "projected");
    int taken = 0;
    for (int i = 0; i < 16; ++i)
        taken += tried.index.search(kinds.like.view(), k, options_of("sqeuclidean", "")).report.path == "projected";
    EXPECT_GT(taken, 0) << "never tried again";
    tried.search(kinds.like, k, "like, tried again", "projected");
}

// Queries that fp16 does not hold pass nothing and say nothing: they are scanned whatever filters.
TEST(GpuPilots, SayNothingOfUnfitQueries) {
    Kinds kinds = directions();
    for (float& x : kinds.unlike.values) x *= 1e4f;
    const Tried tried(kinds.points, "projected");
    tried.search(kinds.unlike, k, "unfit");
    tried.search(kinds.like, k, "like after unfit", "projected");
}

}  // namespace
