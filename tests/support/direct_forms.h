// Direct forms of the filter and pairs that use up their error, for the tests of both backends.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "exact/bounds/direct_scale.h"
#include "exact/direct_form.h"
#include "exact/rounding.h"
#include "kith/kith.h"

namespace direct_forms {

using namespace kith;
using metric::Direct;
using Vector = std::vector<double>;

struct Form {
    std::string name;
    metric::Traits traits;
    metric::Params params;
    ElementType type = ElementType::f32;

    exact::DirectForm form() const { return *exact::direct_form(traits, params, type); }
};

inline Form form_of(const char* name, Direct direct, std::int64_t d, double p = 2) {
    Form f;
    f.name = name;
    f.traits.direct = direct;
    f.params.d = d;
    f.params.p = p;
    if (direct == Direct::powers) f.name += " " + std::to_string(p);
    return f;
}

inline std::vector<Form> forms(std::int64_t d) {
    std::vector<Form> all = {form_of("squares", Direct::squares, d),
                             form_of("sum", Direct::sum, d),
                             form_of("maximum", Direct::maximum, d),
                             form_of("quotients", Direct::quotients, d),
                             form_of("quotient", Direct::quotient, d),
                             form_of("mismatches", Direct::mismatches, d),
                             form_of("divergence", Direct::divergence, d),
                             form_of("jaccard", Direct::jaccard, d),
                             form_of("dice", Direct::dice, d)};
    for (const double p : {1.0, 1.25, 2.0, 2.5, 3.0, 4.0, 5.0, 16.0, 100.0, 1024.0})
        all.push_back(form_of("powers", Direct::powers, d, p));
    for (Form of_f64 :
         {form_of("quotients of f64", Direct::quotients, d), form_of("quotient of f64", Direct::quotient, d)}) {
        of_f64.type = ElementType::f64;
        all.push_back(of_f64);
    }
    Form bytes = form_of("bytes", Direct::mismatches, d), bits = bytes;
    bytes.type = ElementType::i8;
    all.push_back(bytes);
    bits.name = "bits";
    bits.type = ElementType::u8;
    bits.params.packed_bits = true;
    for (const Direct direct : {Direct::mismatches, Direct::jaccard, Direct::dice}) {
        bits.traits.direct = direct;
        all.push_back(bits);
    }
    return all;
}

inline bool of_sets(const Form& f) {
    return f.traits.direct == Direct::jaccard || f.traits.direct == Direct::dice;
}

// The value of the metric's definition. For `divergence` the coordinates are the roots that the kernel takes.
inline long double exact_value(const Form& f, const Vector& q, const Vector& x) {
    long double sum = 0, other = 0;
    for (std::size_t j = 0; j < q.size(); ++j) {
        const long double a = q[j], b = x[j], t = std::abs(a - b);
        switch (f.traits.direct) {
            case Direct::squares:
                sum += t * t;
                break;
            case Direct::maximum:
                sum = std::max(sum, t);
                break;
            case Direct::powers:
                sum += std::pow(t, static_cast<long double>(f.params.p));
                break;
            case Direct::quotients:
                if (t > 0) sum += t / (std::abs(a) + std::abs(b));
                break;
            case Direct::quotient:
                sum += t;
                other += std::abs(a + b);
                break;
            case Direct::mismatches:
                if (f.params.packed_bits)
                    sum += __builtin_popcount(static_cast<unsigned>(a) ^ static_cast<unsigned>(b));
                else sum += a != b;
                break;
            case Direct::divergence:
                // (a - b)^2 G, G from p log(2 p / (p + r)) as log1p, which does not cancel.
                if (t > 0) {
                    const long double p = a * a, r = b * b, s = p + r, z = (p - r) / s;
                    const long double other_side = z < 1 ? (1 - z) * std::log1p(-z) : 0;
                    const long double this_side = z > -1 ? (1 + z) * std::log1p(z) : 0;
                    sum += std::abs(z) < 1e-4L ? s / 2 * z * z * (1 + z * z / 6) : s / 2 * (this_side + other_side);
                }
                break;
            case Direct::jaccard:
            case Direct::dice:
                if (f.params.packed_bits) {
                    const auto l = static_cast<unsigned>(a), r = static_cast<unsigned>(b);
                    sum += __builtin_popcount(l ^ r);
                    other += __builtin_popcount(l | r);
                } else {
                    sum += (a != 0) != (b != 0);
                    other += a != 0 || b != 0;
                }
                break;
            default:
                sum += t;
        }
    }
    if (f.traits.direct == Direct::dice) other = 2 * other - sum;
    return f.traits.direct == Direct::quotient || of_sets(f) ? (sum == 0 ? 0 : sum / other) : sum;
}

// Coordinates that the form covers, near `value`.
inline double admissible(const Form& f, double value) {
    if (f.traits.direct == Direct::divergence) value = std::min(std::abs(value), 1.0);
    if (f.params.packed_bits) return static_cast<double>(static_cast<int>(std::abs(value) * 1000) % 256);
    if (of_sets(f) && static_cast<int>(std::fmod(std::abs(value), 1.0) * 1000) % 2) return 0;
    if (f.type == ElementType::i8) return static_cast<double>(static_cast<int>(value * 10) % 128);
    const double held = static_cast<float>(value);
    // Nearly halfway to the next number of f32, on the side that the others' last bits say.
    if (f.type == ElementType::f64)
        return (f.form().negative ? held : std::abs(held)) *
               (1 + (std::signbit(value - held) ? -0.99 : 0.99) * 0x1p-25);
    return held;
}

// One query and points of one coordinate: differences, sums and quotients of every size, their mantissas all over.
// check(query, points, what).
template <class Check>
void one_coordinate(const Form& f, int turns, std::size_t count, Check check) {
    std::mt19937_64 random(11);
    for (int turn = 0; turn < turns; ++turn) {
        const int exponent = turn % 120 - 60;
        const Vector query = {turn % 3 == 0 ? 0 : admissible(f, std::ldexp(turn % 3 == 1 ? 1.0 : -1.5, -turn % 7))};
        std::vector<Vector> points;
        for (std::size_t p = 0; p < count; ++p) {
            const double m = 1 + static_cast<double>(random() % (1 << 23)) * 0x1p-23;
            const double t = turn % 2 ? m * (turn % 4 == 1 ? -1 : 1) : std::ldexp(m, exponent);
            points.push_back({admissible(f, p == 0 ? query[0] : t)});
        }
        check(query, points, "one coordinate");
    }
}

// Whole vectors: sums in which one term outweighs the others, that lose half a unit at each step, near pairs, zeros.
template <class Check>
void vectors(std::size_t count, Check check) {
    std::mt19937_64 random(12);
    std::normal_distribution<double> normal;
    const std::pair<const char*, std::function<double(std::size_t)>> makers[] = {
        {"normal", [&](std::size_t) { return normal(random); }},
        {"one large", [&](std::size_t j) { return j == 0 ? 1 : 0x1p-24 * (random() % 2 ? 0.99 : 1.01); }},
        {"sparse", [&](std::size_t) { return random() % 4 ? 0 : normal(random); }},
        {"of many sizes",
         [&](std::size_t) { return std::ldexp(normal(random), static_cast<int>(random() % 60) - 30); }},
        {"near", [&](std::size_t j) { return 1 + static_cast<double>(j % 7) + 1e-5 * normal(random); }},
        {"whole", [&](std::size_t) { return static_cast<double>(random() % 9); }},
    };
    for (const std::int64_t d : {2, 3, 5, 8, 31, 128, 1001}) {
        for (const Form& f : forms(d)) {
            for (const auto& [what, coordinate] : makers) {
                const auto vector = [&, make = &coordinate] {
                    Vector v;
                    for (std::int64_t j = 0; j < d; ++j)
                        v.push_back(admissible(f, (*make)(static_cast<std::size_t>(j))));
                    return v;
                };
                const Vector query = vector();
                std::vector<Vector> points = {query};
                while (points.size() < count) points.push_back(vector());
                check(f, query, points, what);
            }
        }
    }
}

// Forms whose rows may be rounded, of points of f64.
inline std::vector<Form> rounded_forms(std::int64_t d) {
    std::vector<Form> all = {form_of("squares", Direct::squares, d), form_of("sum", Direct::sum, d),
                             form_of("maximum", Direct::maximum, d)};
    for (const double p : {1.0, 1.25, 2.0, 2.5, 3.0, 4.0, 7.5, 16.0})
        all.push_back(form_of("powers", Direct::powers, d, p));
    for (Form& f : all) f.type = ElementType::f64;
    return all;
}

struct RoundedSet {
    const char* what;
    std::function<double(std::size_t)> point, query;
};

// Coordinates that f32 does not hold: near each other and far from 0, half a unit of f32 beyond what it holds, equal
// but for their last bits, with an outlier, at both ends of binary64.
inline std::vector<RoundedSet> rounded_sets(std::mt19937_64& random) {
    auto normal = [&random] { return std::normal_distribution<double>()(random); };
    const auto whole = [&random](int most) { return static_cast<double>(random() % static_cast<unsigned>(most)); };
    const auto around = [normal](double mean, double deviation) {
        return [=](std::size_t) mutable { return mean + deviation * normal(); };
    };
    // Halfway between two f32 of the binade of 2^20, and a little to either side.
    const auto halfway = [=](std::size_t) {
        return 0x1p20 + 0x1p-3 * whole(4000) + 0x1p-4 * (1 + (whole(3) - 1) * 0x1p-20);
    };
    return {
        {"normal", around(0, 1), around(0, 1)},
        {"time stamps", around(1.7e9, 1e7), around(1.7e9, 1e7)},
        {"the last bits", [=](std::size_t) { return 1.7e18 + 256 * whole(40); },
         [=](std::size_t) { return 1.7e18 + 256 * whole(40); }},
        {"2^-26 of the mean", around(1e7, 0x1p-26 * 1e7), around(1e7, 0x1p-26 * 1e7)},
        {"2^-50 of the mean", around(1e7, 0x1p-50 * 1e7), around(1e7, 0x1p-50 * 1e7)},
        {"halfway", halfway, halfway},
        {"far queries", around(5, 1e-3), around(1e6, 1)},
        {"two scales", [=](std::size_t i) mutable { return i % 2 ? 1e9 * normal() : 1e9 + 1e-3 * normal(); },
         [=](std::size_t i) mutable { return i % 2 ? 1e9 * normal() : 1e9 + 1e-3 * normal(); }},
        {"an outlier", [=](std::size_t) mutable { return whole(500) == 0 ? 1e12 : normal(); }, around(0.1, 1)},
        {"denormals", [=](std::size_t) { return whole(1000) * 0x1p-1074; },
         [=](std::size_t) { return whole(1000) * 0x1p-1074; }},
        {"huge", around(0, 1e60), around(0, 1e60)},
        {"tiny", around(1e-80, 1e-90), around(1e-80, 1e-90)},
    };
}

// Rows of f64 in a search: of any two points the one that is as near as the other has a value within the
// threshold that the other gives. values(form, words of the query, of the points, half norms) are a kernel's;
// `lowered`: half norms are added to those of a maximum.
template <class Values>
void rounded_rows(std::size_t count, bool lowered, Values values) {
    std::mt19937_64 random(21);
    for (const std::int64_t d : {1, 2, 3, 8, 31}) {
        for (const Form& f : rounded_forms(d)) {
            const exact::DirectForm form = f.form();
            ASSERT_EQ(exact::Coordinates::rounded, form.coordinates) << f.name;
            const exact::DirectBound bound = exact::direct_bound(form.error, d);
            const exact::RoundedBound rounded = exact::rounded_bound(form.rounding, bound);
            for (RoundedSet& set : rounded_sets(random)) {
                const auto vector = [&](std::function<double(std::size_t)>& make) {
                    Vector v;
                    for (std::int64_t j = 0; j < d; ++j) v.push_back(make(static_cast<std::size_t>(j)));
                    return v;
                };
                std::vector<Vector> points;
                while (points.size() < count) points.push_back(vector(set.point));
                Vector query = vector(set.query), flat;
                // Some that are as near as the data allow.
                for (std::size_t p = 0; p < count; p += 3) {
                    points[p] = query;
                    double& x = points[p][p % static_cast<std::size_t>(d)];
                    x += std::ldexp(std::abs(x), -static_cast<int>(20 + random() % 33)) * (p % 2 ? 1 : -1);
                }
                for (std::size_t p = 0; p < count; p += 2) flat.insert(flat.end(), points[p].begin(), points[p].end());
                const exact::DirectSample sample{flat.data(), static_cast<std::int64_t>(flat.size()) / d, d, d};
                const double scale = exact::direct_scale(form, sample);
                const Vector centre = exact::direct_centre(sample, scale);
                bool covered = true;
                const auto encode = [&](Vector row, double& share) {
                    double residual2 = 0, centred2 = 0;
                    for (std::size_t j = 0; j < row.size(); ++j) {
                        const double v = (row[j] - centre[j]) * scale;
                        const auto word = static_cast<float>(v);
                        covered &= std::isfinite(word);
                        row[j] = static_cast<double>(word);
                        residual2 += (v - row[j]) * (v - row[j]);
                        centred2 += v * v;
                    }
                    share = exact::rounded_share(form.rounding, rounded.weight, residual2, centred2);
                    return row;
                };
                double share = 0, largest = 0;
                const Vector words = encode(query, share);
                const double error = bound.lost + share;
                if (!covered) continue;
                std::vector<Vector> rows;
                std::vector<float> shares, half_norms;
                std::vector<long double> keys;
                for (const Vector& point : points) {
                    covered = true;
                    const Vector row = encode(point, share);
                    if (!covered || share > 1e37) continue;
                    rows.push_back(row);
                    shares.push_back(exact::round_up(share));
                    largest = std::max(largest, static_cast<double>(shares.back()));
                    half_norms.push_back(form.step == exact::Step::chebyshev && !lowered ? 0 : -shares.back());
                    keys.push_back(exact_value(f, query, point));
                }
                if (rows.empty()) continue;
                const std::vector<float> a = values(form, words, rows, half_norms);
                // From the farthest on: the least threshold of those that are no nearer.
                std::vector<std::size_t> order(rows.size());
                std::iota(order.begin(), order.end(), std::size_t{0});
                std::sort(order.begin(), order.end(), [&](auto i, auto j) { return keys[i] > keys[j]; });
                const double paid = error + (form.step == exact::Step::chebyshev && !lowered ? largest : 0);
                double least = std::numeric_limits<double>::infinity();
                for (const std::size_t i : order) {
                    const double upper = static_cast<double>(a[i]) + 2 * static_cast<double>(shares[i]);
                    least = std::min(least, upper * rounded.growth + 2 * paid);
                    ASSERT_LE(a[i], std::max(least, 0.0))
                        << f.name << ", d " << d << ", " << set.what << ", point " << i;
                }
            }
        }
    }
}

// Searches of f64 that f32 rounds: points and queries, and queries alone, of every metric that takes them.
inline void rounded_searches(const char* device, std::int64_t n) {
    std::mt19937_64 random(6);
    const double infinite = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    constexpr std::int64_t q = 40, k = 10;
    for (const std::int64_t d : {1, 3, 8, 33}) {
        for (RoundedSet& set : rounded_sets(random)) {
            std::vector<double> points(static_cast<std::size_t>(n * d)), queries(static_cast<std::size_t>(q * d));
            for (std::size_t i = 0; i < points.size(); ++i) points[i] = set.point(i);
            for (std::size_t i = 0; i < queries.size(); ++i) queries[i] = set.query(i);
            // Queries that are points, and points next to them; what f32 or the bound cannot hold.
            std::copy_n(points.begin() + 50 * d, 5 * d, queries.begin());
            const auto first_of = [d](std::vector<double>& rows, std::int64_t row) -> double& {
                return rows[static_cast<std::size_t>(row * d)];
            };
            for (int i = 0; i < 40; ++i)
                first_of(points, 100 + i) = std::nextafter(first_of(points, 50), i % 2 ? infinite : 0);
            first_of(points, 7) = nan;
            first_of(points, 8) = infinite;
            first_of(points, 9) = 1e300;
            first_of(queries, 30) = nan;
            first_of(queries, 31) = -infinite;
            first_of(queries, 32) = 1e300;
            const std::pair<MetricId, double> metrics[] = {{MetricId::sqeuclidean, 0},  {MetricId::euclidean, 0},
                                                           {MetricId::cityblock, 0},    {MetricId::chebyshev, 0},
                                                           {MetricId::minkowski, 3},    {MetricId::minkowski, 2.5},
                                                           {MetricId::minkowski, 1.25}, {MetricId::canberra, 0},
                                                           {MetricId::braycurtis, 0},   {MetricId::hamming, 0}};
            for (const auto& [id, exponent] : metrics) {
                Options options;
                options.metric = id;
                if (exponent > 0) options.metric.p = exponent;
                options.device = device;
                options.f64 = true;
                std::vector<float> rounded(points.begin(), points.end());
                for (const bool both : {true, false}) {
                    const MatrixView p = both ? view(points.data(), n, d) : view(rounded.data(), n, d);
                    options.path = "direct-f32";
                    const Neighbors found = search(p, view(queries.data(), q, d), k, options);
                    options.path = "exact";
                    const Neighbors truth = search(p, view(queries.data(), q, d), k, options);
                    const std::string what =
                        std::string(name(id)) + ", d " + std::to_string(d) + ", " + set.what + (both ? "" : ", f32");
                    ASSERT_EQ(truth.ids, found.ids) << what;
                    ASSERT_EQ(truth.distances64, found.distances64) << what;
                }
            }
        }
    }
}

// Ordinary f64 is filtered by every direct form: measurements, and labels that f32 holds.
inline void searches_of_f64_are_certified(const char* device, std::int64_t n) {
    std::mt19937_64 random(9);
    std::gamma_distribution<double> gamma(2);
    constexpr std::int64_t q = 60, k = 10, d = 24;
    const auto rows_of = [&](std::int64_t rows, bool labels) {
        std::vector<double> out(static_cast<std::size_t>(rows * d));
        for (double& x : out)
            x = labels ? static_cast<double>(1000000 + random() % 4) : random() % 3 ? gamma(random) : 0;
        return out;
    };
    const std::pair<MetricId, double> metrics[] = {
        {MetricId::cityblock, 0},   {MetricId::chebyshev, 0},    {MetricId::minkowski, 3},  {MetricId::minkowski, 2.5},
        {MetricId::minkowski, 16},  {MetricId::canberra, 0},     {MetricId::braycurtis, 0}, {MetricId::hamming, 0},
        {MetricId::sqeuclidean, 0}, {MetricId::jensenshannon, 0}};
    for (const auto& [id, exponent] : metrics) {
        const bool labels = id == MetricId::hamming;
        const std::vector<double> points = rows_of(n, labels);
        const std::vector<double> queries = rows_of(q, labels);
        Options options;
        options.metric = id;
        if (exponent > 0) options.metric.p = exponent;
        options.device = device;
        options.f64 = true;
        options.path = "direct-f32";
        const Neighbors found = search(view(points.data(), n, d), view(queries.data(), q, d), k, options);
        options.path = "exact";
        const Neighbors truth = search(view(points.data(), n, d), view(queries.data(), q, d), k, options);
        const std::string what = std::string(name(id)) + " " + std::to_string(exponent);
        EXPECT_EQ(truth.ids, found.ids) << what;
        EXPECT_EQ(truth.distances64, found.distances64) << what;
        EXPECT_EQ(0, found.report.scanned) << what;
    }
}

// Coordinates whose difference has a square that underflows still differ.
inline void tiny_differences(const char* device) {
    constexpr std::int64_t n = 300, d = 3, k = 2;
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(n * d));
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i / d % 5);
    const std::vector<float> words(bytes.begin(), bytes.end());
    const Vector query = {1e-200, 1e-200, 2};
    Options options;
    options.metric = MetricId::hamming;
    options.device = device;
    options.path = "direct-f32";
    for (const MatrixView& points : {view(bytes.data(), n, d), view(words.data(), n, d)}) {
        const Neighbors found = search(points, view(query.data(), 1, d), k, options);
        EXPECT_EQ((std::vector<std::int64_t>{2, 7}), found.ids) << name(points.type);
        EXPECT_EQ((std::vector<float>{2.0f / 3, 2.0f / 3}), found.distances) << name(points.type);
    }
}

}  // namespace direct_forms
