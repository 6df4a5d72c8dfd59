// The paths "projected" and "gemm-i8" with points that are whole numbers of 8 bits, whose rows are kept as bytes:
// against the full scan, where they are whole throughout, and where a point or a query is not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "cpu/filter/tile/tile.h"
#include "cpu/simd/isa.h"
#include "cpu_searches.h"
#include "search_cases.h"
#include "spectrum.h"

namespace {

using namespace kith;
using cpu_searches::expect_same;
using spectrum::falling;
using spectrum::Spectrum;

// Whole numbers from `least` on, 256 of them, that vary along a few directions; with `step` every so many of them.
struct Whole {
    std::vector<float> rows;
    std::int64_t n, d;

    Whole(std::int64_t count, std::int64_t dimensions, std::uint64_t seed, double least = 0, double step = 1)
        : n(count), d(dimensions) {
        const Spectrum of(count, falling(dimensions, 1.0), seed);
        for (const float x : of.rows) {
            const double v = std::floor((128 + 250 * static_cast<double>(x)) / step) * step;
            rows.push_back(static_cast<float>(std::clamp(v, 0.0, 255.0) + least));
        }
    }
    MatrixView view() const { return kith::view(rows.data(), n, d); }
    float& at(std::int64_t i, std::int64_t j) { return rows[static_cast<std::size_t>(i * d + j)]; }
    template <class T>
    std::vector<T> as() const {
        std::vector<T> out;
        for (const float x : rows) out.push_back(static_cast<T>(x));
        return out;
    }
};

constexpr const char* metrics[] = {"sqeuclidean", "euclidean", "inner_product", "cosine"};

Options options_of(const std::string& path, const std::string& metric = "sqeuclidean", int threads = 2) {
    return cpu_searches::on_cpu(metric, path, threads);
}

// Whether the processor has the instruction set, "" for its best, and that the path.
bool supported(const std::string& isa, const std::string& path) {
    for (const cpu::Isa known : {cpu::Isa::baseline, cpu::Isa::avx2, cpu::Isa::avx512, cpu::Isa::amx})
        if (cpu::name(known) == isa || (isa.empty() && known == cpu::best_isa()))
            return cpu::supported(known) && (path != "gemm-i8" || cpu::byte_kernels(known));
    return false;
}

class WholeNumbers : public testing::TestWithParam<std::string> {
protected:
    void SetUp() override {
        if (!supported("", GetParam())) GTEST_SKIP() << "no " << GetParam() << " on this processor";
    }
};

// Hardly a key is evaluated beyond those of the answer, on any instruction set: of whole rows nothing is rounded.
TEST_P(WholeNumbers, EveryInstructionSetAndElement) {
    const Whole points(6000, 80, 1), queries(300, 80, 2);
    const auto u8 = points.as<std::uint8_t>(), queries_u8 = queries.as<std::uint8_t>();
    const auto f64 = points.as<double>();
    const MatrixView of_u8{u8.data(), 6000, 80, 80, ElementType::u8};
    const MatrixView of_f64{f64.data(), 6000, 80, 80, ElementType::f64};
    const MatrixView queries_of_u8{queries_u8.data(), 300, 80, 80, ElementType::u8};
    for (const char* metric : metrics) {
        for (const std::int64_t k : {1, 10, 100}) {
            const auto want = search(points.view(), queries.view(), k, options_of("exact", metric));
            for (const char* isa : {"", "baseline", "avx2", "avx512", "amx"}) {
                Options options = options_of(GetParam(), metric);
                options.isa = isa;
                if (!supported(isa, GetParam())) continue;
                const std::string what = std::string(metric) + ", " + isa + ", k " + std::to_string(k);
                const auto got = search(points.view(), queries.view(), k, options);
                expect_same(want, got, what);
                EXPECT_EQ(GetParam(), got.report.path);
                EXPECT_EQ(300, got.report.certified) << what;
                EXPECT_LE(got.report.candidates, 1.1 * static_cast<double>(300 * k) + 600) << what;
                expect_same(want, search(of_u8, queries_of_u8, k, options), what + ", u8");
                expect_same(want, search(of_f64, queries.view(), k, options), what + ", f64");
                expect_same(want, search(of_u8, queries.view(), k, options), what + ", queries of f32");
            }
        }
    }
}

TEST_P(WholeNumbers, SignedNumbers) {
    const Whole points(4000, 70, 3, -128), queries(200, 70, 4, -128);
    const auto i8 = points.as<std::int8_t>();
    const MatrixView of_i8{i8.data(), 4000, 70, 70, ElementType::i8};
    // Queries from 0 to 255, of which some are beyond the points' range.
    const Whole others(200, 70, 5);
    for (const char* metric : metrics) {
        const auto want = search(points.view(), queries.view(), 20, options_of("exact", metric));
        expect_same(want, search(points.view(), queries.view(), 20, options_of(GetParam(), metric)), "f32");
        expect_same(want, search(of_i8, queries.view(), 20, options_of(GetParam(), metric)), "i8");
        expect_same(search(of_i8, others.view(), 20, options_of("exact", metric)),
                    search(of_i8, others.view(), 20, options_of(GetParam(), metric)), "others");
    }
}

// Few values, rows again and again: lists are full of equal keys, and ids decide.
TEST_P(WholeNumbers, Ties) {
    for (const double step : {64.0, 128.0}) {
        Whole points(5000, 66, 6, 0, step), queries(100, 66, 7, 0, step);
        for (std::int64_t i = 0; i < 1500; ++i) std::copy_n(&points.at(i % 7, 0), 66, &points.at(3 * i + 1, 0));
        for (std::int64_t i = 0; i < 50; ++i) std::copy_n(&points.at(i, 0), 66, &queries.at(i, 0));
        for (const char* metric : metrics) {
            for (const std::int64_t k : {1, 9, 150}) {
                const auto want = search(points.view(), queries.view(), k, options_of("exact", metric));
                for (const int threads : {1, 3})
                    expect_same(want, search(points.view(), queries.view(), k, options_of(GetParam(), metric, threads)),
                                std::string(metric) + ", " + std::to_string(step) + ", k " + std::to_string(k));
            }
            expect_same(graph(points.view(), 12, options_of("exact", metric)),
                        graph(points.view(), 12, options_of(GetParam(), metric)), std::string("graph, ") + metric);
        }
    }
    const Whole equal(3000, 64, 8, 0, 256);
    for (const char* metric : metrics)
        expect_same(search(equal.view(), equal.view(), 5, options_of("exact", metric)),
                    search(equal.view(), equal.view(), 5, options_of(GetParam(), metric)), "equal");
}

// Rows of zeros among the points and the queries: as far from all by cosine, and uncovered where unit vectors are
// centred. Multiples of a row, which are as near as it is but for what the norms round.
TEST_P(WholeNumbers, ZerosAndMultiples) {
    for (const double least : {0.0, -128.0}) {
        Whole points(4000, 68, 16, least, 4), queries(120, 68, 17, least, 4);
        for (const std::int64_t zeros : {std::int64_t{1}, std::int64_t{40}, std::int64_t{1500}}) {
            for (std::int64_t i = 0; i < zeros; ++i) std::fill_n(&points.at(2 * i + 1, 0), 68, 0.0f);
            for (std::int64_t i = 0; i < 600; ++i)
                for (std::int64_t j = 0; j < 68; ++j)
                    points.at(2 * i, j) = std::trunc(points.at(2 * (i % 9) + 3200, j) / static_cast<float>(1 << i % 3));
            std::fill_n(&queries.at(0, 0), 68, 0.0f);
            std::fill_n(&queries.at(77, 0), 68, 0.0f);
            for (const std::int64_t row : {0, 2, 3, 11, 3000}) points.at(row, row % 68) = std::nanf("");
            for (std::int64_t i = 1; i < 30; ++i) std::copy_n(&points.at(2 * i, 0), 68, &queries.at(i, 0));
            for (const char* metric : metrics) {
                for (const std::int64_t k : {1, 25, 400}) {
                    const std::string what = std::string(metric) + ", " + std::to_string(least) + ", " +
                                             std::to_string(zeros) + " zeros, k " + std::to_string(k);
                    expect_same(search(points.view(), queries.view(), k, options_of("exact", metric)),
                                search(points.view(), queries.view(), k, options_of(GetParam(), metric)), what);
                }
            }
        }
    }
}

// One coordinate of one point, which the sample does not see, is no such number: all rows are rounded as ever.
TEST_P(WholeNumbers, APointThatIsNone) {
    Whole queries(150, 65, 9);
    for (const float other : {0.5f, 256.0f, -1.0f, 1e-30f, 3e8f, std::numeric_limits<float>::infinity()}) {
        Whole points(3000, 65, 10);
        points.at(1777, 64) = other;
        // One query is as near to it as whole numbers are.
        std::copy_n(&points.at(1777, 0), 65, &queries.at(70, 0));
        queries.at(70, 64) = std::trunc(std::clamp(other, 0.0f, 255.0f));
        for (const char* metric : metrics) {
            const auto got = search(points.view(), queries.view(), 11, options_of(GetParam(), metric));
            expect_same(search(points.view(), queries.view(), 11, options_of("exact", metric)), got,
                        std::string(metric) + ", " + std::to_string(other));
            EXPECT_EQ(GetParam(), got.report.path);
        }
    }
    Whole points(3000, 65, 10);
    for (std::int64_t i = 0; i < 3000; i += 3) points.at(i, i % 65) = std::numeric_limits<float>::quiet_NaN();
    Whole some = queries;
    some.at(3, 3) = std::numeric_limits<float>::quiet_NaN();
    for (const char* metric : metrics)
        expect_same(search(points.view(), some.view(), 11, options_of("exact", metric)),
                    search(points.view(), some.view(), 11, options_of(GetParam(), metric)), "NaN");
}

// A query that the sample of queries does not see is left to the next filter; where it sees one, rows are rounded.
TEST_P(WholeNumbers, QueriesThatAreNone) {
    const Whole points(5000, 72, 11);
    for (const std::int64_t every : {997, 50, 1}) {
        Whole queries(1000, 72, 12);
        for (std::int64_t i = 1; i < 1000; i += every) queries.at(i, i % 72) += 0.25f;
        for (const float far : {0.0f, 1e9f}) {
            queries.at(501, 7) += far;
            for (const char* metric : metrics) {
                const auto got = search(points.view(), queries.view(), 15, options_of(GetParam(), metric));
                expect_same(search(points.view(), queries.view(), 15, options_of("exact", metric)), got,
                            std::string(metric) + ", " + std::to_string(every));
                EXPECT_EQ(1000, got.report.certified + got.report.retried + got.report.scanned);
            }
        }
    }
    // An Index takes both.
    const Whole queries(400, 72, 13);
    Whole fractions = queries;
    for (float& x : fractions.rows) x += 0.125f;
    const Index index(points.view(), options_of(GetParam()));
    for (int round = 0; round < 2; ++round) {
        for (const Whole* some : {&queries, &std::as_const(fractions)}) {
            const auto got = index.search(some->view(), 15, options_of(GetParam()));
            expect_same(search(points.view(), some->view(), 15, options_of("exact")), got, "index");
            EXPECT_EQ(GetParam(), got.report.path);
            EXPECT_EQ(400, got.report.certified);
        }
    }
    for (const std::int64_t q : {1, 3, 20}) {
        const MatrixView few = kith::view(queries.rows.data(), q, 72);
        expect_same(search(points.view(), few, 15, options_of("exact")), index.search(few, 15, options_of(GetParam())),
                    "few");
    }
}

// Thresholds that are guessed, of points in orders that make guesses wrong.
TEST_P(WholeNumbers, GuessesOfEveryOrder) {
    constexpr std::int64_t d = 64, n = 9000, q = 1100, k = 90;
    const Whole points(n, d, 14), queries(q, d, 15);
    const auto size = [&](std::int64_t i) {
        double sum = 0;
        for (std::int64_t j = 0; j < d; ++j) {
            const double v = static_cast<double>(points.rows[static_cast<std::size_t>(i * d + j)]) - 128;
            sum += v * v;
        }
        return sum;
    };
    std::vector<double> sizes;
    for (std::int64_t i = 0; i < n; ++i) sizes.push_back(size(i));
    for (const int order : {0, 1, -1}) {
        std::vector<std::int64_t> ids;
        for (std::int64_t i = 0; i < n; ++i) ids.push_back(i);
        std::stable_sort(ids.begin(), ids.end(), [&](std::int64_t a, std::int64_t b) {
            return order * sizes[static_cast<std::size_t>(a)] < order * sizes[static_cast<std::size_t>(b)];
        });
        Whole ordered = points;
        for (std::int64_t i = 0; i < n; ++i)
            std::copy_n(&points.rows[static_cast<std::size_t>(ids[i] * d)], d, &ordered.at(i, 0));
        for (const char* metric : metrics) {
            const auto want = search(ordered.view(), queries.view(), k, options_of("exact", metric));
            for (const int threads : {1, 3})
                expect_same(want, search(ordered.view(), queries.view(), k, options_of(GetParam(), metric, threads)),
                            std::string(metric) + ", " + std::to_string(order));
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Path, WholeNumbers, testing::Values("projected", "gemm-i8"),
                         [](const auto& info) { return info.index == 0 ? "projected" : "bytes"; });

}  // namespace
