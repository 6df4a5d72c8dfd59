// The use of the enclosure a - E <= w <= a + s + E (docs/proofs/filter.md, lemma 1) on the CPU: values at the ends of
// what it permits, so that each term of a threshold decides, and a neighbour is lost where one is missing.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "adversarial.h"
#include "cpu/filter/bound.h"
#include "cpu/filter/tile/tile.h"
#include "cpu/primitives/top_k.h"
#include "cpu/search/candidates.h"
#include "cpu/search/row_filter.h"
#include "cpu/search/shortlist.h"
#include "kith/kith.h"

namespace {

using namespace kith;
using cpu::Candidates;
using cpu::FilterBound;
using cpu::QueryTerms;
using cpu::Rounding;
using cpu::RowSums;
using metric::Gemm;

constexpr std::int64_t room = 64;

QueryTerms with_error(double error) {
    QueryTerms terms;
    terms.error = error;
    return terms;
}

bool tighten(Candidates& list) {
    std::vector<float> upper;
    return list.tighten(upper);
}

// Whether the list keeps the pair with that id when its threshold falls.
bool keeps(Candidates& list, std::int64_t id) {
    tighten(list);
    for (const cpu::Candidate& c : list.list())
        if (c.id == id) return true;
    return false;
}

// The largest f32 at or below.
float below(long double x) {
    auto f = static_cast<float>(x);
    return f > x ? std::nextafter(f, -std::numeric_limits<float>::infinity()) : f;
}

// ---------------------------------------------------------------- the threshold (2)

// k witnesses whose w is at the upper end of theirs, a + s + E, and a neighbour at the lower end of its, a - E: its a
// is the witnesses' upper value and E twice.
TEST(Threshold, PaysTheErrorOfTheWitnessAndOfTheNeighbour) {
    adversarial::Random random(1);
    for (int repeat = 0; repeat < 1000; ++repeat) {
        const std::int64_t k = 1 + random.below(20);
        const double error = std::ldexp(1 + random.uniform(), static_cast<int>(random.below(20)) - 20);
        Candidates list(k, with_error(error), room);
        long double w = std::numeric_limits<long double>::infinity();
        for (std::int64_t i = 0; i < k; ++i) {
            const auto a = static_cast<float>(random.gaussian()), slack = static_cast<float>(random.uniform() * 0.1);
            list.append(a, slack, i);
            const long double own = static_cast<long double>(a) + slack + error;
            w = i == 0 ? own : std::max(w, own);
        }
        const float neighbour = below(w + error);
        list.append(neighbour, 0.5f, k);
        ASSERT_TRUE(keeps(list, k)) << "k " << k << ", E " << error << ", w " << static_cast<double>(w);
    }
}

// The upper value is a sum in f32, here rounded down, which the threshold must make good.
TEST(Threshold, CoversTheRoundingOfAnUpperValue) {
    const float a = -1 - 0x1p-23f, slack = 0x1p-23f + 0x1.fcp-26f;
    ASSERT_EQ(-1.0f, a + slack);
    const double error = 0.5 - 0x1p-11;
    Candidates list(1, with_error(error), room);
    list.append(a, slack, 0);
    list.append(below(static_cast<long double>(a) + slack + 2 * error), 0.25f, 1);
    EXPECT_TRUE(keeps(list, 1));
}

// A sum of the whole list, not of a part of it: the k-th smallest upper value and no smaller one.
TEST(Threshold, IsOfTheKthUpperValue) {
    for (const std::int64_t k : {1, 2, 7}) {
        Candidates list(k, with_error(0), room);
        for (std::int64_t i = 0; i < k; ++i) list.append(static_cast<float>(i), 0, i);
        ASSERT_TRUE(keeps(list, k - 1)) << "k " << k;
        ASSERT_EQ(static_cast<std::size_t>(k), list.list().size());
        // One more lowers it to that of k - 1.
        list.append(-1, 0, k);
        tighten(list);
        ASSERT_EQ(static_cast<std::size_t>(k), list.list().size()) << "k " << k;
    }
    // Fewer than k say nothing.
    Candidates few(3, with_error(0), room);
    few.append(0, 0, 0);
    few.append(1e30f, 0, 1);
    EXPECT_TRUE(keeps(few, 1));
    EXPECT_EQ(std::numeric_limits<float>::infinity(), few.threshold());
}

// Equal ranks are never separated: what is at the threshold stays.
TEST(Threshold, KeepsWhatEqualsIt) {
    Candidates list(2, with_error(0), room);
    for (std::int64_t i = 0; i < 10; ++i) list.append(0, 0, i);
    tighten(list);
    EXPECT_EQ(0.0f, list.threshold());
    EXPECT_EQ(10u, list.list().size());
    for (const cpu::Isa isa : {cpu::Isa::baseline, cpu::Isa::avx2, cpu::Isa::avx512}) {
        if (!cpu::supported(isa)) continue;
        std::vector<float> panel(static_cast<std::size_t>(cpu::panel_floats(1)), 0.0f);
        for (int p = 0; p < cpu::panel_points; ++p) panel[static_cast<std::size_t>(p)] = static_cast<float>(p);
        const float query = 0, threshold = 20;
        std::uint32_t hits = 0;
        alignas(64) float values[cpu::panel_points];
        cpu::tile_kernels(isa).of_step[0].tile[1](panel.data(), 1, &query, &threshold, 0, &hits, values);
        EXPECT_EQ(0x1fffffu, hits) << cpu::name(isa);
    }
}

TEST(Threshold, NeverRises) {
    Candidates list(1, with_error(0), room);
    list.lower(1);
    list.lower(2);
    EXPECT_EQ(1.0f, list.threshold());
    list.append(5, 0, 0);
    tighten(list);
    EXPECT_EQ(1.0f, list.threshold());
}

// A point that the bound does not cover is never dropped, and its value lowers no threshold.
TEST(Threshold, PassesWhatIsNotCovered) {
    const float infinity = std::numeric_limits<float>::infinity();
    for (const float value : {std::numeric_limits<float>::quiet_NaN(), -infinity}) {
        Candidates list(2, with_error(0), room);
        list.append(value, 0, 0);
        list.append(3, 0, 1);
        EXPECT_TRUE(keeps(list, 0)) << value;
        EXPECT_EQ(infinity, list.threshold()) << value << ": one witness is not two";
        list.append(5, 0, 2);
        EXPECT_TRUE(keeps(list, 0)) << value;
        EXPECT_TRUE(keeps(list, 2)) << value << ": the second of two witnesses";
    }
}

// From a distance key: the w that belongs to it, and the neighbour's E. Sums that cancel, so that f32 is finer than
// what binary64 rounds of the terms.
TEST(Threshold, OfARankCoversItsImage) {
    adversarial::Random random(2);
    for (int repeat = 0; repeat < 20000; ++repeat) {
        QueryTerms terms;
        terms.scale = 1 + random.uniform();
        const double rank = 1 + random.uniform();
        if (repeat % 2) terms.offset = -(rank * terms.scale) * (1 + 0x1p-34 * random.gaussian());
        terms.error = repeat % 3 ? 0 : random.uniform() * 0x1p-36;
        const long double w = static_cast<long double>(rank) * terms.scale + terms.offset;
        ASSERT_GE(static_cast<long double>(terms.threshold_from_rank(rank)), w + terms.error)
            << "rank " << rank << ", scale " << terms.scale << ", offset " << terms.offset << ", E " << terms.error;
    }
}

// Relative errors: the witness's rank is up to U / (1 - g), and the neighbour's value up to 1 + g times its own.
TEST(Threshold, OfADirectFormGrowsByBothErrors) {
    for (const std::int64_t d : {1, 100, 65536}) {
        const QueryTerms terms = cpu::direct_terms(exact::direct_bound({}, d));
        const long double g = (static_cast<long double>(d) + 3) * 0x1p-24L,
                          lost = static_cast<long double>(d) * 0x1p-148L;
        for (const float upper : {1.0f, 0x1.fffffep+20f, 0x1p-130f}) {
            const long double rank = (upper + lost) / (1 - g);
            EXPECT_GE(static_cast<long double>(terms.threshold_from_upper(upper)), rank * (1 + g) + lost)
                << "d " << d << ", U " << upper;
            EXPECT_GE(static_cast<long double>(terms.threshold_from_rank(upper)), upper * (1 + g) + lost)
                << "d " << d << ", rank " << upper;
        }
    }
}

// ---------------------------------------------------------------- E, F and h, term by term

// Sums of which one alone is not zero, and those of ordinary vectors.
std::vector<RowSums> sums() {
    return {{1, 0, 0},
            {0, 1, 0},
            {0, 0, 1},
            {1, 1, 0x1p-50},
            {4, 3.9, 0x1p-18},
            {0x1p40, 0x1p40, 0x1p-9},
            {0x1p-60, 0x1p-60, 0x1p-111},
            {0, 0, 0}};
}

struct Documented {
    long double kappa, r, g, gamma, underflow;
    Documented(Rounding rounding, std::int64_t dimensions) {
        const auto d = static_cast<long double>(dimensions);
        const bool f32 = rounding == Rounding::f32;
        kappa = f32 ? 0x1p-25L : 1.5L * 0x1p-10L;
        r = f32 ? 0x1p-24L * (1 + 0x1p-12L) : 1.875L * 0x1p-10L;
        g = f32 ? (d + 4) * 0x1p-24L * (1 + 2 * d * 0x1p-24L) : (d + 4) * 0x1p-23L * (1 + 2 * d * 0x1p-23L);
        gamma = (2 * d + 40) * 0x1p-52L;
        underflow = f32 ? d * 0x1p-147L : (d + 2) * 0x1p-124L;
    }
};

// What section 6 derives is what the code charges, and h and the slack are on the safe side of it.
TEST(Terms, AreAtLeastThoseOfTheDerivation) {
    for (const Rounding rounding : {Rounding::f32, Rounding::bf16}) {
        for (const std::int64_t d : {1, 16, 784, 65536}) {
            const Documented of(rounding, d);
            for (const Gemm form : {Gemm::l2, Gemm::dot, Gemm::cosine}) {
                FilterBound bound(form, d, rounding);
                const long double largest = 3;
                bound.set_largest(3);
                for (const RowSums& s : sums()) {
                    const long double rho = std::sqrt(static_cast<long double>(s.residual2)),
                                      v = std::sqrt(static_cast<long double>(s.norm2)),
                                      rounded = std::sqrt(static_cast<long double>(s.rounded2));
                    long double half = 0, f, e;
                    if (form == Gemm::l2) {
                        half = static_cast<long double>(s.norm2) / 2;
                        f = rho * rho / (2 * of.kappa) + (of.kappa + of.g) * rounded * rounded / 2 + of.g * v * v +
                            of.gamma * v * v;
                        e = rho * rho / (2 * of.kappa) + (of.kappa + of.g) * rounded * rounded / 2 +
                            of.kappa * v * v / 2 + of.gamma * v * v;
                    } else {
                        f = rho + (of.r + of.g) * rounded + of.gamma * v;
                        e = std::max(0.0L, rho - of.r) * largest;
                    }
                    f = f * (1 + 2 * of.g) + of.underflow;
                    e += of.underflow;
                    const std::string where = "form " + std::to_string(static_cast<int>(form)) + ", d " +
                                              std::to_string(d) + ", sums " + std::to_string(s.norm2) + " " +
                                              std::to_string(s.rounded2) + " " + std::to_string(s.residual2);
                    const cpu::PointTerms point = bound.point(s);
                    EXPECT_LE(static_cast<long double>(point.half_norm), half - f) << where;
                    EXPECT_GE(static_cast<long double>(point.slack), half + f - point.half_norm) << where;
                    EXPECT_GE(static_cast<long double>(bound.query(s, 1, 1).error), e) << where;
                }
            }
        }
    }
}

TEST(Terms, OfDirectFormsPayForUnderflow) {
    for (const std::int64_t d : {1, 16, 784, 65536})
        EXPECT_GE(static_cast<long double>(exact::direct_bound({}, d).lost), Documented(Rounding::f32, d).underflow);
}

// ---------------------------------------------------------------- a few queries

// What the filter for a few queries knows of a point's product is within e of it, on both sides: after as many points
// as fill a list, a threshold that is lower than the nearest one's upper end would drop what may be nearer.
TEST(FewQueries, ThresholdIsAnUpperEnd) {
    for (const MetricId id : {MetricId::inner_product, MetricId::cosine}) {
        for (const std::int64_t d : {1, 16, 300}) {
            const std::int64_t n = 256;
            // Products and squares of powers of two: the filter's value has no error of its own.
            std::vector<float> points(static_cast<std::size_t>(n * d), 0.0f), query(static_cast<std::size_t>(d), 0.0f);
            query[0] = 1;
            for (std::int64_t i = 0; i < n; ++i) points[static_cast<std::size_t>(i * d)] = i == 0 ? 2.0f : -1.0f;
            const MatrixView queries = view(query.data(), 1, d);
            cpu::Points prepared;
            prepared.metric.id = id;
            prepared.metric.params.d = d;
            prepared.rows = view(points.data(), n, d);
            const cpu::Search search{prepared, queries, 1, false, cpu::Isa::baseline};
            const std::int64_t number = 0;
            cpu::Shortlist list(search, &number, 1);
            cpu::RowFilter filter(search, list, 1);
            for (std::int64_t g = 0; g < n / cpu::panel_points; ++g) filter.group(g);
            const double g = (static_cast<double>(d) + 4) * 0x1p-24;
            // Of unit queries: w, and the error of a product or of a cosine.
            const double nearest = id == MetricId::cosine ? -1 : -2, error = id == MetricId::cosine ? 3 * g : 2 * g;
            ASSERT_LT(list.thresholds()[0], std::numeric_limits<float>::infinity());
            // The witness may be that much farther than its value says, and the neighbour that much nearer.
            EXPECT_GE(list.thresholds()[0], nearest + error) << name(id) << ", d " << d;
        }
    }
}

}  // namespace
