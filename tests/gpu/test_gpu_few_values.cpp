// hamming of coordinates that take few values each, as bits on a GPU: which values a sample has, when they serve, and
// searches of such points in every element type; and ties at the k-th distance, which the filter orders as the answer.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gpu/points/few_values.h"
#include "gpu/points/prepare_filter.h"
#include "kith/kith.h"
#include "oracle.h"

namespace {

using namespace kith;

constexpr double nan = std::numeric_limits<double>::quiet_NaN(), infinite = std::numeric_limits<double>::infinity();

template <class T>
T stored(double x) {
    return static_cast<T>(x);
}
// Of whole numbers up to 2,047 that are normal in f16, and of zeros, infinities and NaN.
template <>
float16 stored<float16>(double x) {
    if (std::isnan(x)) return {0x7e00};
    const unsigned sign = std::signbit(x) ? 0x8000u : 0u;
    if (x == 0) return {static_cast<std::uint16_t>(sign)};
    if (std::isinf(x)) return {static_cast<std::uint16_t>(sign | 0x7c00u)};
    const int exponent = std::ilogb(x);
    const auto mantissa = static_cast<unsigned>((std::ldexp(std::abs(x), -exponent) - 1) * 1024);
    return {static_cast<std::uint16_t>(sign | static_cast<unsigned>(exponent + 15) << 10 | mantissa)};
}

template <class T>
inline constexpr bool is_whole = std::is_integral_v<T>;

// Value g of coordinate i: other ones in every coordinate, 0 among them.
template <class T>
double value_of(std::int64_t i, std::int64_t g) {
    return static_cast<double>((g * (i % 3 + 1) - i % 5) % (std::is_same_v<T, std::int8_t> ? 128 : 256)) +
           (std::is_unsigned_v<T> ? 4 : 0);
}

Options of_hamming(const char* path = "") {
    Options options;
    options.device = "cuda";
    options.metric = MetricId::hamming;
    options.path = path;
    options.f64 = true;
    return options;
}

struct Shape {
    std::int64_t n, q, d, k;
};

// The filter's answer, which is that of the scan.
template <class T>
Neighbors checked(const std::vector<T>& points, const std::vector<T>& queries, const Shape& s, const std::string& what,
                  bool packed = false) {
    const MatrixView of = view(points.data(), s.n, s.d), with = view(queries.data(), s.q, s.d);
    Options options = of_hamming("direct-f32");  // few pairs are scanned if no path is named
    options.metric.packed_bits = packed;
    Neighbors found = search(of, with, s.k, options);
    options.path = "exact";
    const Neighbors truth = search(of, with, s.k, options);
    EXPECT_EQ(truth.ids, found.ids) << what;
    EXPECT_EQ(truth.distances64, found.distances64) << what;
    return found;
}

// At once, and with hardly more candidates than neighbours.
void expect_certified(const Neighbors& found, const Shape& s, const std::string& what) {
    EXPECT_EQ("direct-f32", found.report.path) << what;
    EXPECT_EQ(s.q, found.report.certified) << what;
    EXPECT_LT(found.report.candidates, static_cast<double>(s.q) * (1.5 * static_cast<double>(s.k) + 40)) << what;
}

template <class T>
class GpuFewValues : public testing::Test {};
using Types = testing::Types<std::uint8_t, std::int8_t, float16, float, double>;
TYPED_TEST_SUITE(GpuFewValues, Types);

// From 2 values to more than have a bit; queries with values that no point has; rows with a value of their own, NaN, an
// infinity; -0 beside 0.
TYPED_TEST(GpuFewValues, Searches) {
    using T = TypeParam;
    std::mt19937_64 random(10);
    int turn = 0;
    for (const std::int64_t d : {1, 4, 5, 31, 37, 130, 300}) {
        for (const std::int64_t values : {2, 3, 4, 5, 8, 9, 16, 17, 32, 33}) {
            const Shape s{6000, 70, d, 10};
            const std::int64_t others = std::array<std::int64_t, 3>{0, 40, 700}[static_cast<std::size_t>(turn++ % 3)];
            std::vector<T> points(static_cast<std::size_t>(s.n * d)), queries(static_cast<std::size_t>(s.q * d));
            for (auto* rows : {&points, &queries}) {
                for (std::size_t at = 0; at < rows->size(); ++at) {
                    const auto i = static_cast<std::int64_t>(at) % d;
                    double x = value_of<T>(i, static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(values)));
                    if (x == 0 && random() % 2) x = -0.0;
                    (*rows)[at] = stored<T>(x);
                }
            }
            const double odd[] = {101, 102, is_whole<T> ? 103 : nan, is_whole<T> ? 104 : infinite,
                                  is_whole<T> ? 105 : -infinite};
            const auto place = [&](std::int64_t row) {
                return static_cast<std::size_t>(row * d) + random() % static_cast<std::size_t>(d);
            };
            for (std::int64_t i = 0; i < others; ++i) points[place(i * 7 + 1)] = stored<T>(odd[i % 5]);
            const bool only_queries = turn % 2 == 0;
            for (std::int64_t i = 0; i < s.q && only_queries; i += 3) queries[place(i)] = stored<T>(odd[i % 5]);
            const std::string what =
                "d " + std::to_string(d) + ", values " + std::to_string(values) + ", others " + std::to_string(others);
            const Neighbors found = checked(points, queries, s, what);
            EXPECT_EQ("direct-f32", found.report.path) << what;
            if (!std::is_same_v<T, double> && others == 0 && values <= 17) expect_certified(found, s, what);
        }
    }
}

// Against the definition, with k beyond the points that have no NaN.
TYPED_TEST(GpuFewValues, AgreesWithTheOracle) {
    using T = TypeParam;
    std::mt19937_64 random(11);
    for (const std::int64_t k : {5, 300}) {
        constexpr std::int64_t n = 300, q = 20, d = 40;
        std::vector<T> points(n * d), queries(q * d);
        for (auto* rows : {&points, &queries})
            for (T& x : *rows) x = stored<T>(static_cast<double>(random() % 3));
        if (!is_whole<T>) points[7 * d + 3] = queries[2 * d] = stored<T>(nan);
        Options options = of_hamming();
        if (!std::is_same_v<T, double>) options.path = "direct-f32";  // which is not chosen for most of the points
        const Neighbors found = search(view(points.data(), n, d), view(queries.data(), q, d), k, options);
        const auto type = view(points.data(), n, d).type;
        for (std::int64_t a = 0; a < q; ++a) {
            std::vector<std::pair<double, std::int64_t>> all;
            for (std::int64_t b = 0; b < n; ++b) {
                double differ = 0;
                bool there = true;
                for (std::int64_t i = 0; i < d; ++i) {
                    const double u = oracle::element(queries.data(), type, a * d + i),
                                 v = oracle::element(points.data(), type, b * d + i);
                    there &= !std::isnan(u) && !std::isnan(v);
                    differ += u != v;
                }
                if (there) all.emplace_back(differ / static_cast<double>(d), b);
            }
            std::ranges::sort(all);
            for (std::int64_t i = 0; i < k; ++i) {
                const auto at = static_cast<std::size_t>(a * k + i);
                const bool is = i < std::ssize(all);
                ASSERT_EQ(is ? all[static_cast<std::size_t>(i)].second : -1, found.ids[at]) << a << " " << i;
                const double distance = is ? all[static_cast<std::size_t>(i)].first : infinite;
                ASSERT_EQ(distance, found.distances64[at]) << a << " " << i;
            }
        }
    }
}

// Which form points of `values` values take; 0: words.
template <class T>
int values_taken(const std::vector<T>& points, std::int64_t n, std::int64_t d) {
    gpu::DeviceMetric metric;
    metric.spec.id = MetricId::hamming;
    metric.params.d = metric.spec.params.d = d;
    metric.kernels = &gpu::metric_kernels(MetricId::hamming);
    gpu::DeviceRows rows = gpu::upload(view(points.data(), n, d), 0, n, true, nullptr);
    gpu::measure(rows, metric, nullptr);
    const gpu::FilterVectors filter = gpu::prepare_filter(rows, metric, gpu::FilterKind::direct_coarse, nullptr);
    const bool few = filter.form.direct.coordinates == exact::Coordinates::few_values;
    EXPECT_EQ(few, filter.form.values != nullptr);
    return few ? filter.form.direct.values : 0;
}

// Half of the rows have three coordinates of values that nothing else has: what the filter finds of these is less than
// their distance, by three.
TEST(GpuFewValues, OtherValuesArePaid) {
    std::mt19937_64 random(12);
    const Shape s{20000, 100, 128, 10};
    std::vector<float> points(static_cast<std::size_t>(s.n * s.d)), queries(static_cast<std::size_t>(s.q * s.d));
    for (auto* rows : {&points, &queries})
        for (float& x : *rows) x = static_cast<float>(random() % 4);
    for (std::int64_t row = 0; row < s.n; row += 2)
        for (std::int64_t i = 0; i < 3; ++i)
            points[static_cast<std::size_t>(row * s.d + 32 * i) + random() % 32] =
                static_cast<float>(1000 + static_cast<std::int64_t>(random() % 100000));
    EXPECT_EQ(4, values_taken(points, s.n, s.d));
    const Neighbors found = checked(points, queries, s, "others");
    EXPECT_EQ("direct-f32", found.report.path);
    EXPECT_EQ(0, found.report.scanned);
}

TEST(GpuFewValues, TakesTheLeastThatServes) {
    std::mt19937_64 random(13);
    constexpr std::int64_t n = 5000, d = 64;
    std::vector<float> points(n * d);
    const auto taken = [&](std::uint64_t values, auto&& change) {
        for (float& x : points) x = static_cast<float>(random() % values);
        change();
        return values_taken(points, n, d);
    };
    const auto nothing = [] {};
    for (const auto& [values, bits] : {std::pair{1, 2}, {2, 2}, {3, 4}, {4, 4}, {5, 8}, {16, 16}, {17, 32}, {32, 32}})
        EXPECT_EQ(bits, taken(static_cast<std::uint64_t>(values), nothing)) << values;
    EXPECT_EQ(0, taken(40, nothing));
    // A row in a hundred has a value of its own in one coordinate, or in all; then a few have.
    const auto own = [&](std::int64_t every, std::int64_t coordinates) {
        for (std::int64_t row = 5; row < n; row += every)
            for (std::int64_t i = 0; i < coordinates; ++i)
                points[static_cast<std::size_t>(row * d + i)] = static_cast<float>(1000 + row);
    };
    EXPECT_EQ(2, taken(2, [&] { own(100, 1); }));
    EXPECT_EQ(0, taken(2, [&] { own(50, d); }));
    EXPECT_EQ(2, taken(2, [&] { own(100, d); }));
    // One that a sample does not see, in too many rows.
    EXPECT_EQ(0, taken(2, [&] {
                  for (std::int64_t row = 1; row < n; ++row)
                      if (row * 256 / n == (row + 1) * 256 / n && (row - 1) * 256 / n == row * 256 / n)
                          for (std::int64_t i = 0; i < 8; ++i)
                              points[static_cast<std::size_t>(row * d + i)] = static_cast<float>(1000 + row);
              }));
}

// The values of a sample, most frequent first, without those of rows with a NaN.
TEST(GpuFewValues, CommonValues) {
    constexpr std::int64_t n = 64, d = 3;
    std::vector<double> points(n * d);
    for (std::int64_t row = 0; row < n; ++row) {
        points[static_cast<std::size_t>(row * d)] = row % 8 == 0 ? -0.0 : row % 8 < 3 ? 7 : 1e-300;
        points[static_cast<std::size_t>(row * d + 1)] = row == 0 ? nan : static_cast<double>(row);
        points[static_cast<std::size_t>(row * d + 2)] = row < 40 ? 0.0 : -0.0;
    }
    gpu::DeviceMetric metric;
    metric.params.d = d;
    metric.kernels = &gpu::metric_kernels(MetricId::hamming);
    gpu::DeviceRows rows = gpu::upload(view(points.data(), n, d), 0, n, true, nullptr);
    gpu::measure(rows, metric, nullptr);
    const gpu::CommonValues common = gpu::common_values(rows.prepared(), d, nullptr);
    std::vector<double> table(static_cast<std::size_t>(common.table.size()));
    ASSERT_EQ(cudaSuccess,
              cudaMemcpy(table.data(), common.table.get(), table.size() * sizeof(double), cudaMemcpyDefault));
    const auto value = [&](std::size_t i, std::size_t g) { return table[g * d + i]; };
    EXPECT_EQ(1e-300, value(0, 0));
    EXPECT_EQ(7, value(0, 1));
    EXPECT_EQ(0, value(0, 2));
    EXPECT_TRUE(std::isnan(value(0, 3)));
    EXPECT_EQ(0, value(2, 0));
    EXPECT_TRUE(std::isnan(value(2, 1)));
    for (std::size_t g = 0; g < 32; ++g) EXPECT_TRUE(value(1, g) > 0) << g;
    // Of 63 rows, 7 have a 0; 63 have values of their own.
    const auto share = [](double left) { return left / (n * d); };
    EXPECT_DOUBLE_EQ(share(7 + 61), common.other[0]);
    EXPECT_DOUBLE_EQ(share(59), common.other[1]);
    EXPECT_DOUBLE_EQ(share(31), common.other[4]);
}

TEST(GpuFewValues, CountsOtherValues) {
    std::vector<float> errors(1000);
    for (std::size_t i = 0; i < errors.size(); ++i) errors[i] = 0.5f * static_cast<float>(i);
    gpu::Buffer<float> on(1000, nullptr);
    ASSERT_EQ(cudaSuccess, cudaMemcpy(on.get(), errors.data(), 4000, cudaMemcpyDefault));
    EXPECT_EQ(0, gpu::other_values(on.get(), 1000, 999, nullptr).loose);
    EXPECT_EQ(489, gpu::other_values(on.get(), 1000, 510.5, nullptr).loose);
    EXPECT_EQ(9, gpu::other_values(on.get(), 520, 510, nullptr).loose);
    EXPECT_EQ(999 * 500, gpu::other_values(on.get(), 1000, 1, nullptr).total);
}

// Masses of points at the k-th distance, in every step that counts: the filter keeps those of the smallest ids.
TEST(GpuHammingTies, AreNoCandidates) {
    std::mt19937_64 random(14);
    for (const auto& [n, q, k] : {std::tuple{100000, 300, 10}, {40000, 20, 100}, {20000, 300, 300}}) {
        for (const std::int64_t d : {1, 3, 16, 64}) {
            const Shape s{n, q, d, k};
            for (const int levels : {1, 2, 4, 256}) {
                std::vector<std::uint8_t> points(static_cast<std::size_t>(n * d)),
                    queries(static_cast<std::size_t>(q * d));
                for (auto* rows : {&points, &queries})
                    for (std::uint8_t& x : *rows)
                        x = static_cast<std::uint8_t>(random() % static_cast<std::uint64_t>(levels));
                const std::string what =
                    "n " + std::to_string(n) + ", d " + std::to_string(d) + ", levels " + std::to_string(levels);
                for (const bool packed : {false, true})
                    expect_certified(checked(points, queries, s, what + (packed ? ", packed" : ""), packed), s, what);
                const std::vector<float> words(points.begin(), points.end()), with(queries.begin(), queries.end());
                expect_certified(checked(words, with, s, what + ", f32"), s, what);
            }
        }
    }
}

}  // namespace
