// The coarse forms' bounds on the host: what rounding to whole numbers takes of a maximum and of squares, and a
// divergence by logarithms with the worst that lg2.approx may return.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "coarse_forms.h"

namespace {

using namespace coarse_forms;

// PTX ISA, 9.7.3: lg2.approx is within 2^-22, absolutely between 1/2 and 2 and relatively elsewhere.
float worst_logarithm(float x, int direction) {
    const long double log = std::log2(static_cast<long double>(x));
    return static_cast<float>(log + direction * 0.75L * 0x1p-22L * std::max(1.0L, std::abs(log)));  // and its rounding
}

float emulated(const ShareRow& q, const ShareRow& x, float factor, int direction) {
    float sum = 0;
    for (std::size_t j = 0; j < q.words.size(); ++j) {
        const float s = q.words[j] + x.words[j];
        sum = std::fma(s, worst_logarithm(s, direction), sum);
    }
    return std::fma(-factor, sum, q.term) + x.half_norm;
}

TEST(CoarseForms, DivergencesByLogarithms) {
    share_sets([](const exact::DirectForm& form, std::int64_t d, const Vector& query, const std::vector<Vector>& points,
                  const char* what) {
        const ShareRow q = share_row(query, false);
        for (std::size_t p = 0; p < points.size(); ++p) {
            const ShareRow x = share_row(points[p], true);
            for (const int direction : {-1, 0, 1})
                within_error(form, q, x, emulated(q, x, form.exponent, direction), divergence(query, points[p]), what,
                             d);
        }
    });
}

// Keys of rows and of their words differ by no more than the rows' shares; far from the centre, beyond the ends,
// halfway between whole numbers.
TEST(CoarseForms, MaximaOfWholeNumbers) {
    std::mt19937_64 random(3);
    std::normal_distribution<double> normal;
    for (const std::int64_t d : {1, 8, 31, 200}) {
        const exact::DirectForm form = coarse(Direct::maximum, d);
        ASSERT_EQ(exact::Coordinates::rounded_halves, form.coordinates);
        const exact::DirectBound bound = exact::direct_bound(form.error, d);
        const exact::RoundedBound rounded = exact::rounded_bound(form.rounding, bound);
        for (const double centre : {0.0, 0.1, 1e9}) {
            for (const double scale : {300.0, 1.0, 3e7}) {
                const auto vector = [&](int kind) {
                    Vector v;
                    for (std::int64_t j = 0; j < d; ++j) {
                        const double x = normal(random);
                        v.push_back(centre +
                                    (kind == 0 ? x : (std::nearbyint(x * scale) + (kind == 1 ? 0.499 : 0)) / scale));
                    }
                    return v;
                };
                const auto encode = [&](const Vector& row, double& share) {
                    double residual2 = 0, centred2 = 0;
                    Vector words;
                    for (const double x : row) {
                        const double v = (x - centre) * scale, word = std::clamp(std::nearbyint(v), -1024.0, 1024.0);
                        residual2 = std::max(residual2, (v - word) * (v - word));
                        centred2 = std::max(centred2, v * v);
                        words.push_back(word);
                    }
                    share = exact::rounded_share(form.rounding, rounded.weight, residual2, centred2);
                    return words;
                };
                for (int turn = 0; turn < 200; ++turn) {
                    const Vector q = vector(turn % 3), x = vector(turn / 3 % 3);
                    double paid = 0, owed = 0;
                    const Vector u = encode(q, paid), v = encode(x, owed);
                    long double key = 0, of_words = 0;
                    for (std::size_t j = 0; j < q.size(); ++j) {
                        key = std::max(key, std::abs(static_cast<long double>(q[j]) - x[j]) * scale);
                        of_words = std::max(of_words, std::abs(static_cast<long double>(u[j]) - v[j]));
                    }
                    ASSERT_LE(std::abs(key - of_words), paid + owed) << "d " << d << ", scale " << scale;
                }
            }
        }
    }
}

// However the cost of rounding is split, keys of rows and of their bytes bound each other, in both directions: of rows
// near each other, whose bytes are equal, and of rows that are cut off.
TEST(CoarseForms, SquaresOfBytes) {
    std::mt19937_64 random(4);
    std::normal_distribution<double> normal;
    for (const std::int64_t d : {1, 8, 31, 200}) {
        const exact::DirectForm form = coarse(Direct::squares, d);
        ASSERT_EQ(exact::Coordinates::rounded_bytes, form.coordinates);
        for (const double split : {0.0, 0x1p-20, 1e-3, 0.03, 0.5}) {
            const exact::RoundingCost cost = exact::rounding_cost(form, d, split);
            for (const double spread : {0.2, 3.0, 30.0, 200.0}) {
                const auto vector = [&] {
                    Vector v;
                    for (std::int64_t j = 0; j < d; ++j) v.push_back(spread * normal(random));
                    return v;
                };
                const auto lost = [&](const Vector& row, Vector& words) {
                    double residual2 = 0;
                    for (const double x : row) {
                        words.push_back(std::clamp(std::nearbyint(x), -128.0, 127.0));
                        residual2 += (x - words.back()) * (x - words.back());
                    }
                    return exact::rounded_share(cost, cost.factor, residual2, 0);
                };
                for (int turn = 0; turn < 200; ++turn) {
                    const Vector q = vector(), x = vector();
                    Vector u, v;
                    const double paid = lost(q, u) + lost(x, v);
                    double key = 0, of_words = 0;
                    for (std::size_t j = 0; j < q.size(); ++j) {
                        key += (q[j] - x[j]) * (q[j] - x[j]);
                        of_words += (u[j] - v[j]) * (u[j] - v[j]);
                    }
                    ASSERT_LE(of_words, cost.growth * key + paid) << "d " << d << ", split " << split;
                    ASSERT_LE(key, cost.growth * of_words + paid) << "d " << d << ", split " << split;
                }
            }
        }
    }
}

}  // namespace
