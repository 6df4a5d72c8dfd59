// What the first queries of a search say of a filter that looks at the points before fp16 does, and what an Index
// remembers of it: whichever filter is taken, the answers are the oracle's.
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>

#include "filter_values.h"
#include "gpu/filter/bytes.h"
#include "gpu/points/projection.h"
#include "gpu/search/projected_pass.h"
#include "gpu_arrays.h"
#include "kith/kith.h"
#include "prepared_filter.h"
#include "same_answer.h"
#include "spectrum.h"
#include "truth.h"

namespace {

using namespace kith;
using spectrum::falling;
using spectrum::Spectrum;

// Ranges along directions are then of 4,096 points and of all others, of which no query has room for all.
constexpr std::int64_t n = 18000, d = 256, q = 300;
// The points of the samples before the pilots (filter_levels), whose order statistics are these.
constexpr std::int64_t sampled = 4096, k = 3;

// Rows of floats.
struct Data {
    std::vector<float> values;
    std::int64_t rows;
    MatrixView view() const { return kith::view(values.data(), rows, d); }
};

Data copy_of(const Spectrum& spectrum) {
    return {spectrum.rows, spectrum.n};
}

// Whole numbers within +-80, which 8 bits hold: half norms spread less than terms reach.
Data whole_numbers(std::int64_t rows, unsigned seed) {
    std::mt19937 random(seed);
    Data out{{}, rows};
    for (std::int64_t i = 0; i < rows * d; ++i)
        out.values.push_back(static_cast<float>(static_cast<int>(random() % 161) - 80));
    return out;
}

// Corners of the cube of +-127: products with the points are so large that thresholds lie far below half norms.
Data corners(std::int64_t rows, unsigned seed) {
    std::mt19937 random(seed);
    Data out{{}, rows};
    for (std::int64_t i = 0; i < rows * d; ++i) out.values.push_back(random() % 2 ? 127.0f : -127.0f);
    return out;
}

Options options_of(const std::string& path) {
    Options options;
    options.device = "cuda";
    options.path = path;
    return options;
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
    EXPECT_TRUE(same_answer(search(points.view(), queries.view(), neighbours, options_of("gemm-f16")), got)) << what;
}

// An index whose points have a projection whether it pays or not, and a search for which pilots decide.
struct Tried {
    Data points;
    Index index;

    Tried(Data of, const std::string& path) : points(std::move(of)), index(points.view(), options_of(path)) {}
    // The path that was taken.
    Report search(const Data& queries, std::int64_t neighbours, const std::string& what) const {
        const Neighbors got = index.search(queries.view(), neighbours, options_of(""));
        expect_true(points, queries, neighbours, got, what + ", k " + std::to_string(neighbours));
        return got.report;
    }
};

bool has_matrix_units() {
    return filter_values::instruction_sets().size() > 1;
}

// ---- thresholds beyond what terms of bytes hold

// Terms that thresholds are raised to let too many points pass; ints do not.
TEST(GpuPilots, TermsRefuseWhatIntsServe) {
    if (!has_matrix_units()) GTEST_SKIP() << "needs compute capability 9.0";
    const Data points = whole_numbers(n, 1);
    for (const bool low : {false, true}) {
        const Data queries = low ? corners(q, 2) : whole_numbers(q, 3);
        const PreparedFilter filter(points.view(), queries.view(), "sqeuclidean", Path::gemm_i8, "sm_90a");
        ASSERT_TRUE(filter.chunk().projected);
        ASSERT_GT(filter.chunk().projected->terms.size(), 0);
        const std::int64_t width = filter.form().width;
        const auto floats = [](const void* halves, std::int64_t count) {
            const std::vector<__half> from = filter_values::to_host(static_cast<const __half*>(halves), count);
            std::vector<float> out(from.size());
            std::ranges::transform(from, out.begin(), [](__half x) { return __half2float(x); });
            return out;
        };
        const std::vector<float> u = floats(filter.vectors.get(), q * width),
                                 v = floats(filter.chunk().filter.vectors.get(), sampled * width),
                                 h = filter_values::to_host(filter.chunk().filter.half_norm.get(), sampled);
        std::vector<float> thresholds;
        for (auto row = u.begin(); row != u.end(); row += width) {
            std::vector<float> values;
            for (std::int64_t p = 0; p < sampled; ++p)
                values.push_back(
                    std::inner_product(row, row + width, v.begin() + p * width, -h[static_cast<std::size_t>(p)]));
            // The largest of the negated ones.
            std::ranges::nth_element(values, values.begin() + k - 1, std::greater{});
            thresholds.push_back(-values[k - 1]);
        }
        gpu::Buffer<float> threshold(q, nullptr);
        gpu_arrays::check(
            cudaMemcpy(threshold.get(), thresholds.data(), thresholds.size() * sizeof(float), cudaMemcpyHostToDevice));
        gpu::FilterPass pass = filter.pass();
        pass.threshold = threshold.get();
        gpu::ProjectedPass projected(*filter.chunk().projected, filter.chunk().filter, pass, gpu::FilterIsa::sm_90a,
                                     nullptr);
        EXPECT_TRUE(projected.uses_terms());
        EXPECT_EQ(!low, projected.serves(sampled)) << low;
        projected.leave_terms();
        EXPECT_FALSE(projected.uses_terms());
        EXPECT_TRUE(projected.serves(sampled)) << low;
    }
}

TEST(GpuPilots, LowThresholdsLeaveTerms) {
    if (!has_matrix_units()) GTEST_SKIP() << "needs compute capability 9.0";
    const Tried tried(whole_numbers(n, 4), "gemm-i8");
    const Data low = corners(q, 5), usual = whole_numbers(q, 6);
    EXPECT_EQ("gemm-i8", tried.search(low, k, "low").path) << "ints";
    // Of the same index and what has been remembered, terms or not: other queries, fewer neighbours and more.
    EXPECT_EQ("gemm-i8", tried.search(usual, k, "usual after low").path);
    EXPECT_EQ("gemm-i8", tried.search(usual, k - 1, "usual after low").path);
    tried.search(low, 40, "low after usual");
    tried.search(usual, 40, "usual after low");
    // Terms at first, which queries after the pilots mislead: they pass more, and are right.
    const Tried later(whole_numbers(n, 7), "gemm-i8");
    EXPECT_EQ("gemm-i8", later.search(usual, k, "usual").path);
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
    const Report report = tried.search(some, k, "a few high");
    EXPECT_EQ("gemm-i8", report.path);
    EXPECT_GE(report.retried, high);
    EXPECT_GE(report.certified, q - high - 10);
    EXPECT_EQ(0, report.scanned);
    // Among the pilots: neither terms nor ints serve.
    for (std::int64_t i = 0; i < q; ++i) some.values[static_cast<std::size_t>(i * d + i % d)] = 1e4f;
    tried.search(some, k, "all high, where terms have served");
    const Tried fresh(whole_numbers(n, 10), "gemm-i8");
    EXPECT_EQ("gemm-f16", fresh.search(some, k, "all high").path);
    tried.search(whole_numbers(q, 11), k, "usual after high");
}

// ---- what is remembered

// Queries like the points, and queries that lie where a projection leaves out most.
struct Kinds {
    Data points, like, unlike;
};
Kinds directions() {
    std::vector<double> rising;
    for (const double x : falling(d, 1.5)) rising.push_back(1 / x);
    return {copy_of(Spectrum(n, falling(d, 1.5), 20)), copy_of(Spectrum(q, falling(d, 1.5), 21)),
            copy_of(Spectrum(q, rising, 22))};
}

TEST(GpuPilots, RememberThatAProjectionServes) {
    const Kinds kinds = directions();
    const Tried tried(kinds.points, "projected");
    EXPECT_EQ("projected", tried.search(kinds.like, k, "like").path);
    for (const std::int64_t other : {1, 2, 50}) tried.search(kinds.like, other, "like again");
    // Not tried, and of no use: retried.
    const Report misled = tried.search(kinds.unlike, k, "unlike, where it has served");
    EXPECT_EQ("projected", misled.path);
    EXPECT_EQ(q, misled.retried);
    // It has been given up.
    EXPECT_EQ("gemm-f16", tried.search(kinds.like, k, "like after unlike").path);
    for (const std::int64_t other : {1, 2, 50}) tried.search(kinds.like, other, "like after unlike");
}

TEST(GpuPilots, RememberThatAProjectionDoesNotServe) {
    const Kinds kinds = directions();
    const Tried tried(kinds.points, "projected");
    EXPECT_EQ("gemm-f16", tried.search(kinds.unlike, k, "unlike").path);
    EXPECT_EQ("gemm-f16", tried.search(kinds.like, k, "like, where it has been refused").path);
    EXPECT_EQ("gemm-f16", tried.search(kinds.like, 50, "more neighbours").path);
    // Of fewer neighbours it is not known; it serves, and again for as many as before after some searches.
    EXPECT_EQ("projected", tried.search(kinds.like, k - 1, "fewer neighbours").path);
    int taken = 0;
    for (int i = 0; i < 16; ++i)
        taken += tried.index.search(kinds.like.view(), k, options_of("")).report.path == "projected";
    EXPECT_GT(taken, 0) << "never tried again";
    EXPECT_EQ("projected", tried.search(kinds.like, k, "like, tried again").path);
}

}  // namespace
