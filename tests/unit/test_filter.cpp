// The prepared filter of a metric encloses the canonical distance key: its panels, centres, scales and terms put
// together, for data that make each of them matter.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "cpu/filter/panels.h"
#include "cpu/filter/tile/query_tiles.h"
#include "kith/kith.h"
#include "metric_variants.h"

namespace {

using namespace kith;
using Vector = std::vector<double>;

constexpr std::int64_t points_count = 200, queries_count = 12;
constexpr double infinity = std::numeric_limits<double>::infinity();

struct Enclosed {
    std::int64_t pairs = 0, infinite = 0;
    double widest = 0;  // of the pairs' enclosures, as distance keys
};

template <class T>
std::vector<T> of_type(const Vector& v) {
    return {v.begin(), v.end()};
}

// Every pair of one query and one point that the bound covers.
template <class T>
Enclosed enclosed(MetricId id, double p, std::int64_t d, const Vector& point_values, const Vector& query_values,
                  cpu::Isa isa, cpu::Rounding rounding, const std::string& what) {
    const std::vector<T> points = of_type<T>(point_values), queries = of_type<T>(query_values);
    const MatrixView rows = view(points.data(), static_cast<std::int64_t>(points.size()) / d, d);
    const MatrixView of_queries = view(queries.data(), static_cast<std::int64_t>(queries.size()) / d, d);
    MetricSpec metric;
    metric.id = id;
    metric.params.d = d;
    metric.params.p = p;
    std::vector<double> matrix;
    if (id == MetricId::mahalanobis) {
        // Of p 5 the plane of vectors that sum to 0 is nearly nothing to it.
        if (p == 5) {
            matrix.assign(static_cast<std::size_t>(d * d), 1.0);
            for (std::int64_t j = 0; j < d; ++j) matrix[static_cast<std::size_t>(j * (d + 1))] += 1e-11;
        } else matrix = p == 2 ? positive_definite(d, 5) : p == 3 ? of_many_scales(d, 5) : ill_conditioned(d, 5);
        metric.params.constants = matrix.data();
    }
    const std::function<bool(const Progress&)> silent;
    ProgressMeter progress(silent, 1);
    const auto filter = cpu::Filter::make(rows, metric, isa, 1, rounding, false, progress);
    Enclosed seen;
    if (!filter) return seen;
    const cpu::TileKernels& tiles = cpu::tile_kernels(isa);
    cpu::DistanceKeys distance_keys(metric, isa);
    cpu::RowBlock block(of_queries.rows, d), all(rows.rows, d);
    distance_keys.load(of_queries, 0, of_queries.rows, block);
    distance_keys.load(rows, 0, rows.rows, all);
    std::vector<double> ranks(static_cast<std::size_t>(rows.rows));
    std::vector<float> words(static_cast<std::size_t>(d) + 4);
    for (std::int64_t i = 0; i < of_queries.rows; ++i) {
        const cpu::QueryTerms terms = filter->query(block, i, tiles, words.data());
        if (!terms.usable) continue;
        cpu::QueryTiles query(filter->tiles(tiles), 1, filter->words());
        query.set(0, words.data(), filter->row_words());
        distance_keys.compute(block, i, all, rows.rows, ranks.data());
        const long double g = (terms.growth - 1.0L) / (terms.growth + 1.0L);
        for (std::int64_t panel = 0; panel < filter->panels(); ++panel) {
            const float* const at = filter->panel(panel);
            const float threshold = std::numeric_limits<float>::infinity();
            std::vector<float> values(cpu::panel_points, std::numeric_limits<float>::quiet_NaN());
            query.compare(at, &threshold, filter->exponent(),
                          [&](std::int64_t, std::int64_t, const std::uint32_t*, const float* found) {
                              std::copy_n(found, cpu::panel_points, values.begin());
                          });
            for (std::int64_t p = 0; p < cpu::panel_points && panel * cpu::panel_points + p < rows.rows; ++p) {
                if (!(at[p] < infinity)) continue;
                const double rank = ranks[static_cast<std::size_t>(panel * cpu::panel_points + p)];
                const long double w = static_cast<long double>(rank) * terms.scale + terms.offset;
                const long double a = values[p], upper = a + static_cast<long double>(at[cpu::panel_points + p]);
                ++seen.pairs;
                if (rank == infinity) {
                    EXPECT_EQ(infinity, upper) << what << ", query " << i << ", point " << p;
                    ++seen.infinite;
                    continue;
                }
                EXPECT_LE(a, w * (1 + g) + terms.error) << what << ", query " << i << ", point " << p;
                EXPECT_GE(upper, w * (1 - g) - terms.error) << what << ", query " << i << ", point " << p;
                const long double width = (upper - a) + 2 * (terms.error + g * std::abs(w));
                seen.widest = std::max(seen.widest, static_cast<double>(width / terms.scale));
                if (testing::Test::HasFailure()) return seen;
            }
        }
    }
    return seen;
}

struct Data {
    std::int64_t d;
    Vector points, queries;
};

Data made(std::int64_t d, const std::function<double(std::int64_t)>& coordinate) {
    Data data{d, {}, {}};
    for (std::int64_t i = 0; i < points_count * d; ++i) data.points.push_back(coordinate(i % d));
    for (std::int64_t i = 0; i < queries_count * d; ++i) data.queries.push_back(coordinate(i % d));
    return data;
}

// Calls check(isa, rounding, label) for every arithmetic of this machine.
template <class Check>
void every_arithmetic(const Check& check) {
    for (const cpu::Isa isa : {cpu::Isa::baseline, cpu::Isa::avx2, cpu::Isa::avx512})
        if (cpu::supported(isa)) check(isa, cpu::Rounding::f32, std::string(cpu::name(isa)));
    for (const cpu::Isa isa : {cpu::Isa::avx512, cpu::Isa::amx})
        if (cpu::supported(isa) && cpu::pair_kernels(isa))
            check(isa, cpu::Rounding::bf16, std::string("bf16 ") + cpu::name(isa));
}

class Enclosure : public testing::TestWithParam<std::int64_t> {
protected:
    std::mt19937_64 random{17};
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform{0, 1};
};

TEST_P(Enclosure, OfCrossEntropies) {
    const std::int64_t d = GetParam();
    const auto gamma = [&] { return -std::log(1 - uniform(random)); };
    const std::pair<const char*, Data> all[] = {
        {"histograms", made(d, [&](std::int64_t) { return gamma(); })},
        {"many sizes", made(d, [&](std::int64_t) { return std::exp(20 * normal(random)); })},
        {"columns of zeros", made(d, [&](std::int64_t j) { return j % 3 == 1 ? 0 : gamma(); })},
        {"some zeros", made(d, [&](std::int64_t) { return random() % 64 ? gamma() : 0; })},
        {"tiny shares", made(d, [&](std::int64_t j) { return j ? random() % 16 ? gamma() : 1e-37 : 1; })},
        {"tiny shares or zeros", made(d, [&](std::int64_t j) { return j ? random() % 2 ? 1e-37 : 0 : 1; })},
        {"nearly equal", made(d, [&](std::int64_t j) { return 1 + static_cast<double>(j) + 1e-12 * normal(random); })},
        {"below 2^-500", made(d, [&](std::int64_t) { return random() % 9 ? gamma() : std::ldexp(1.0, -1050); })},
    };
    for (const auto& [what, data] : all) {
        every_arithmetic([&](cpu::Isa isa, cpu::Rounding rounding, const std::string& label) {
            const std::string where = label + ", " + what + ", d " + std::to_string(d);
            enclosed<double>(MetricId::kl_divergence, 2, d, data.points, data.queries, isa, rounding, where);
            const Enclosed seen =
                enclosed<float>(MetricId::kl_divergence, 2, d, data.points, data.queries, isa, rounding, where);
            EXPECT_EQ(points_count * queries_count, seen.pairs) << where;
            if (std::string(what) == "columns of zeros") {
                EXPECT_EQ(0, seen.infinite) << where;
            }
        });
        if (HasFailure()) return;
    }
}

TEST_P(Enclosure, OfUnitVectorsWithACommonMean) {
    const std::int64_t d = GetParam();
    if (d < 3) return;  // correlation leaves one direction or none
    for (const double spread : {0.3, 0.05, 1e-3, 1e-6, 1e-12}) {
        const Data data = made(d, [&](std::int64_t j) { return (j % 2 ? 2 : 1) * (1 + spread * normal(random)); });
        for (const MetricId metric : {MetricId::cosine, MetricId::correlation}) {
            every_arithmetic([&](cpu::Isa isa, cpu::Rounding rounding, const std::string& label) {
                const std::string where =
                    label + ", " + name(metric) + ", spread " + std::to_string(spread) + ", d " + std::to_string(d);
                const Enclosed seen = enclosed<double>(metric, 2, d, data.points, data.queries, isa, rounding, where);
                EXPECT_EQ(points_count * queries_count, seen.pairs) << where;
                // In proportion to the square of the spread, not to 1.
                const double unit = rounding == cpu::Rounding::f32 ? 0x1p-24 : 0x1p-8;
                EXPECT_LT(seen.widest, 200 * (static_cast<double>(d) + 20) * (unit * spread * spread + 0x1p-52))
                    << where;
            });
            if (HasFailure()) return;
        }
    }
}

// Zero vectors are at distance 1 from all: not what their square says.
TEST_P(Enclosure, OfZerosAmongUnitVectors) {
    const std::int64_t d = GetParam();
    Data data = made(d, [&](std::int64_t) { return 1 + 0.01 * normal(random); });
    for (std::int64_t j = 0; j < d; ++j) data.points[static_cast<std::size_t>(3 * d + j)] = 0;
    for (std::int64_t j = 0; j < d; ++j) data.queries[static_cast<std::size_t>(2 * d + j)] = 0;
    every_arithmetic([&](cpu::Isa isa, cpu::Rounding rounding, const std::string& label) {
        const Enclosed few = enclosed<float>(MetricId::cosine, 2, d, data.points, data.queries, isa, rounding, label);
        EXPECT_EQ(points_count * (queries_count - 1), few.pairs) << label;
    });
    // A tenth of them moves the centre.
    for (std::int64_t i = 0; i < points_count; i += 10)
        std::fill_n(data.points.begin() + static_cast<std::ptrdiff_t>(i * d), d, 0.0);
    every_arithmetic([&](cpu::Isa isa, cpu::Rounding rounding, const std::string& label) {
        const Enclosed some = enclosed<float>(MetricId::cosine, 2, d, data.points, data.queries, isa, rounding, label);
        EXPECT_LE(points_count * (queries_count - 1), some.pairs) << label;
    });
    // Many, which say nothing of the others' mean.
    for (std::int64_t i = 0; i < points_count * 4 / 5 * d; ++i) data.points[static_cast<std::size_t>(i)] = 0;
    every_arithmetic([&](cpu::Isa isa, cpu::Rounding rounding, const std::string& label) {
        const Enclosed many = enclosed<float>(MetricId::cosine, 2, d, data.points, data.queries, isa, rounding, label);
        EXPECT_EQ(points_count * (queries_count - 1), many.pairs) << label;
    });
}

// Every other metric with a filter, at sizes that need a scale and at those that do not.
TEST_P(Enclosure, OfEveryOtherForm) {
    const std::int64_t d = GetParam();
    const std::pair<MetricId, double> metrics[] = {
        {MetricId::sqeuclidean, 2}, {MetricId::inner_product, 2}, {MetricId::hellinger, 2},    {MetricId::cityblock, 2},
        {MetricId::chebyshev, 2},   {MetricId::minkowski, 1},     {MetricId::minkowski, 2},    {MetricId::minkowski, 3},
        {MetricId::minkowski, 4},   {MetricId::minkowski, 2.5},   {MetricId::minkowski, 40},   {MetricId::canberra, 2},
        {MetricId::braycurtis, 2},  {MetricId::hamming, 2},       {MetricId::jensenshannon, 2}};
    for (const double size : {1.0, 0x1p-60, 0x1p60}) {
        const Data data = made(d, [&](std::int64_t) { return random() % 5 ? size * std::abs(normal(random)) : size; });
        for (const auto& [metric, p] : metrics) {
            every_arithmetic([&](cpu::Isa isa, cpu::Rounding rounding, const std::string& label) {
                const bool product = metric == MetricId::sqeuclidean || metric == MetricId::inner_product ||
                                     metric == MetricId::hellinger;
                if (!product && rounding == cpu::Rounding::bf16) return;
                const std::string where = label + ", " + name(metric) + " " + std::to_string(p) + ", size " +
                                          std::to_string(size) + ", d " + std::to_string(d);
                const Enclosed seen = enclosed<float>(metric, p, d, data.points, data.queries, isa, rounding, where);
                EXPECT_EQ(points_count * queries_count, seen.pairs) << where;
            });
            if (HasFailure()) return;
        }
    }
}

// Coordinates after a factor of a matrix: ordinary, of many scales (p 3), ill-conditioned (p 4); points far from 0 and
// near each other, where the factor's own rounding is all there is.
TEST_P(Enclosure, AfterAFactor) {
    const std::int64_t d = GetParam();
    if (d > 40) return;
    for (const double spread : {1.0, 1e-3, 1e-13}) {
        const Data data = made(d, [&](std::int64_t j) { return 1 + static_cast<double>(j) + spread * normal(random); });
        for (const double p : {2.0, 3.0, 4.0}) {
            every_arithmetic([&](cpu::Isa isa, cpu::Rounding rounding, const std::string& label) {
                const std::string where = label + ", matrix " + std::to_string(p) + ", spread " +
                                          std::to_string(spread) + ", d " + std::to_string(d);
                const Enclosed seen =
                    enclosed<double>(MetricId::mahalanobis, p, d, data.points, data.queries, isa, rounding, where);
                EXPECT_EQ(points_count * queries_count, seen.pairs) << where;
            });
            if (HasFailure()) return;
        }
    }
}

// Differences that the matrix takes nearly to 0: what it and its factor round is more than what f32 does.
TEST_P(Enclosure, OfDifferencesNearlyInTheKernelOfTheMatrix) {
    const std::int64_t d = GetParam();
    if (d < 2 || d > 40) return;
    Data data = made(d, [&](std::int64_t) { return normal(random); });
    for (Vector* rows : {&data.points, &data.queries}) {
        for (std::size_t at = 0; at < rows->size(); at += static_cast<std::size_t>(d)) {
            double sum = 0;
            for (std::size_t j = 0; j + 1 < static_cast<std::size_t>(d); ++j) sum += (*rows)[at + j];
            (*rows)[at + static_cast<std::size_t>(d) - 1] = -sum;
        }
    }
    every_arithmetic([&](cpu::Isa isa, cpu::Rounding rounding, const std::string& label) {
        const std::string where = label + ", d " + std::to_string(d);
        const Enclosed seen =
            enclosed<double>(MetricId::mahalanobis, 5, d, data.points, data.queries, isa, rounding, where);
        EXPECT_EQ(points_count * queries_count, seen.pairs) << where;
    });
}

// What jensenshannon takes of coordinates that differ by little, or are nearly nothing.
TEST_P(Enclosure, OfNearAndTinyProbabilities) {
    const std::int64_t d = GetParam();
    const std::pair<const char*, Data> all[] = {
        {"near", made(d, [&](std::int64_t j) { return 1 + static_cast<double>(j % 5) + 1e-7 * normal(random); })},
        {"tiny",
         made(d,
              [&](std::int64_t j) { return j ? std::ldexp(uniform(random), -static_cast<int>(random() % 140)) : 1; })},
        {"zeros", made(d, [&](std::int64_t) { return random() % 3 ? 0 : uniform(random); })},
    };
    for (const auto& [what, data] : all) {
        every_arithmetic([&](cpu::Isa isa, cpu::Rounding rounding, const std::string& label) {
            if (rounding == cpu::Rounding::bf16) return;
            const Enclosed seen = enclosed<float>(MetricId::jensenshannon, 2, d, data.points, data.queries, isa,
                                                  rounding, label + ", " + what + ", d " + std::to_string(d));
            EXPECT_EQ(points_count * queries_count, seen.pairs);
        });
        if (HasFailure()) return;
    }
}

INSTANTIATE_TEST_SUITE_P(Dimensions, Enclosure, testing::Values(1, 2, 5, 16, 33, 300));

}  // namespace
