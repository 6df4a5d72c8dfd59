// What further columns say of a pair (docs/exactness.md, section 11) is never above its value by all coordinates, in
// long double, one stage after the other.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "adversarial.h"
#include "gpu/filter/further.h"

namespace {

using namespace kith;

constexpr std::int64_t d = 40, first_columns = 6, stage_columns = 12, columns = first_columns + 2 * stage_columns;

// Columns that are orthonormal but for `defect`.
struct Basis {
    std::vector<double> at;  // d x columns
    exact::ProjectionError error;

    Basis(adversarial::Random& random, double defect) : at(d * columns) {
        for (double& x : at) x = random.gaussian();
        for (int twice = 0; twice < 2; ++twice)
            for (std::int64_t c = 0; c < columns; ++c) {
                for (std::int64_t b = 0; b < c; ++b) take(c, b, product(c, b));
                const double norm = std::sqrt(product(c, c));
                for (std::int64_t i = 0; i < d; ++i) at[i * columns + c] /= norm;
            }
        for (double& x : at) x += defect * random.gaussian();
        double defect2 = 0;
        for (std::int64_t c = 0; c < columns; ++c)
            for (std::int64_t b = 0; b < columns; ++b) {
                const double e = product(c, b) - (c == b ? 1 : 0);
                defect2 += e * e;
            }
        error = exact::ProjectionError(defect2, d, columns);
    }
    double product(std::int64_t c, std::int64_t b) const {
        double sum = 0;
        for (std::int64_t i = 0; i < d; ++i) sum += at[i * columns + c] * at[i * columns + b];
        return sum;
    }
    void take(std::int64_t c, std::int64_t b, double times) {
        for (std::int64_t i = 0; i < d; ++i) at[i * columns + c] -= times * at[i * columns + b];
    }
    std::vector<double> along(const std::vector<double>& v) const {
        std::vector<double> out(columns, 0.0);
        for (std::int64_t c = 0; c < columns; ++c)
            for (std::int64_t i = 0; i < d; ++i) out[c] += at[i * columns + c] * v[i];
        return out;
    }
};

// A vector's row of one stage, as the kernels make it.
struct Row {
    std::vector<int> numbers;
    gpu::FurtherTerms terms;

    Row(const std::vector<double>& v, const std::vector<double>& along, std::int64_t first, double step,
        const exact::ProjectionError& error, bool query) {
        gpu::FurtherSums sums;
        for (const double x : v) sums.norm2 += x * x;
        for (std::int64_t c = 0; c < first; ++c) sums.before2 += along[c] * along[c];
        for (std::int64_t c = first; c < first + stage_columns; ++c) {
            const double y = along[c], b = std::fmin(std::fmax(std::nearbyint(y / step), -128.0), 127.0),
                         rest = y - b * step;
            numbers.push_back(static_cast<int>(b));
            sums.own2 += y * y;
            sums.stepped2 += b * step * (b * step);
            sums.rest2 += rest * rest;
        }
        terms = gpu::further_terms(sums, error, query);
    }
};

double product_of(const std::vector<double>& u, const std::vector<double>& v) {
    long double sum = 0;
    for (std::size_t i = 0; i < u.size(); ++i) sum += static_cast<long double>(u[i]) * v[i];
    return static_cast<double>(sum);
}

// One after the other both stages, of steps that suit the coordinates and of such that clip or lose nearly all of them.
TEST(Further, IsNeverAboveTheValue) {
    adversarial::Random random(3);
    double nearest = std::numeric_limits<double>::infinity();
    std::int64_t raised = 0, pairs = 0;
    for (const double defect : {0.0, 1e-9, 1e-4}) {
        const Basis basis(random, defect);
        for (const double step : {0.03, 0.002, 3.0}) {
            for (const double size : {1.0, 1e-3, 1e4}) {
                std::vector<std::vector<double>> rows;
                for (int i = 0; i < 60; ++i) {
                    std::vector<double> v(d);
                    for (double& x : v) x = size * random.gaussian();
                    // Some within the columns' span, some alike.
                    if (i % 3 == 1)
                        for (std::int64_t j = 0; j < d; ++j) v[j] = size * basis.at[j * columns + i % columns];
                    if (i % 3 == 2 && i > 5)
                        for (std::int64_t j = 0; j < d; ++j) v[j] = rows[i - 3][j] * (1 + 1e-7 * random.gaussian());
                    rows.push_back(v);
                }
                for (const auto& u : rows) {
                    const std::vector<double> z = basis.along(u);
                    for (const auto& v : rows) {
                        const std::vector<double> y = basis.along(v);
                        // What the first columns say, whose own errors the pass has paid for.
                        const double half = product_of(v, v) / 2, value = half - product_of(u, v);
                        long double first = half;
                        double u_left = product_of(u, u), v_left = product_of(v, v);
                        const double sizes = u_left + v_left;
                        for (std::int64_t c = 0; c < first_columns; ++c) {
                            first -= static_cast<long double>(z[c]) * y[c];
                            u_left -= z[c] * z[c];
                            v_left -= y[c] * y[c];
                        }
                        const double paid = 2 * (basis.error.coordinates + basis.error.square + 1e-6) * sizes;
                        auto a = static_cast<float>(static_cast<double>(first) -
                                                    std::sqrt(std::fmax(u_left, 0.0) * std::fmax(v_left, 0.0)) -
                                                    2 * std::sqrt(basis.error.square) * sizes - paid);
                        const float before = a;
                        for (int stage = 0; stage < 2; ++stage) {
                            const std::int64_t at = first_columns + stage * stage_columns;
                            const Row query(u, z, at, step * size, basis.error, true),
                                point(v, y, at, step * size, basis.error, false);
                            int sum = 0;
                            for (std::int64_t c = 0; c < stage_columns; ++c) sum += query.numbers[c] * point.numbers[c];
                            const double found =
                                gpu::further_value(a, query.terms, point.terms, step * size * (step * size), sum);
                            ASSERT_LE(found, value + 1e-15 * sizes)
                                << "defect " << defect << ", step " << step << ", size " << size << ", stage " << stage;
                            nearest = std::fmin(nearest, (value - found) / sizes);
                            a = static_cast<float>(found);
                            if (static_cast<double>(a) > found)
                                a = std::nextafter(a, -std::numeric_limits<float>::infinity());
                        }
                        ++pairs;
                        raised += a > before;
                    }
                }
            }
        }
    }
    EXPECT_GT(raised, pairs / 4);
    RecordProperty("nearest", std::to_string(nearest));
}

TEST(Further, RoundsToTheSideThatIsSafe) {
    for (const double x : {0.0, 1e-310, 1e-44, 3e-39, 1e-30, 0.1, 1.0, 3e38, 1e39}) {
        EXPECT_LE(static_cast<double>(gpu::at_most(x)), x) << x;
        EXPECT_GE(static_cast<double>(gpu::at_least(x)), x) << x;
    }
}

// Points that every query has to look at, and rows whose terms f32 does not hold, are not left out.
TEST(Further, LeavesWhatHasNoValue) {
    const float infinity = std::numeric_limits<float>::infinity();
    const gpu::FurtherTerms one{1, 1, 1, 1}, wide{1, infinity, infinity, infinity}, vast{infinity, 1, 1, 1};
    for (const gpu::FurtherTerms& of : {one, wide, vast}) {
        EXPECT_FALSE(gpu::further_value(-infinity, of, one, 1, 5) > 0.0);
        EXPECT_FALSE(gpu::further_value(-infinity, one, of, 1, 5) > 0.0);
    }
    EXPECT_FALSE(gpu::further_value(0, wide, one, 1, 5) > 0.0);
    EXPECT_FALSE(gpu::further_value(0, one, wide, 1, 5) > 0.0);
}

}  // namespace
