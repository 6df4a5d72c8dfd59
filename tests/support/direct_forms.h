// Direct forms of the filter and pairs that use up their error, for the tests of both backends.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "exact/direct_form.h"
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
    std::vector<Form> all = {form_of("squares", Direct::squares, d),      form_of("sum", Direct::sum, d),
                             form_of("maximum", Direct::maximum, d),      form_of("quotients", Direct::quotients, d),
                             form_of("quotient", Direct::quotient, d),    form_of("mismatches", Direct::mismatches, d),
                             form_of("divergence", Direct::divergence, d)};
    for (const double p : {1.0, 1.25, 2.0, 2.5, 3.0, 4.0, 5.0, 16.0, 100.0, 1024.0})
        all.push_back(form_of("powers", Direct::powers, d, p));
    Form bytes = form_of("bytes", Direct::mismatches, d), bits = bytes;
    bytes.type = ElementType::i8;
    all.push_back(bytes);
    bits.name = "bits";
    bits.type = ElementType::u8;
    bits.params.packed_bits = true;
    all.push_back(bits);
    return all;
}

// What the metric's definition gives. Of `divergence` the coordinates are the roots that the kernel takes.
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
            default:
                sum += t;
        }
    }
    return f.traits.direct == Direct::quotient ? (sum == 0 ? 0 : sum / other) : sum;
}

// Coordinates that the form covers, near `value`.
inline double admissible(const Form& f, double value) {
    if (f.traits.direct == Direct::divergence) value = std::min(std::abs(value), 1.0);
    if (f.params.packed_bits) return static_cast<double>(static_cast<int>(std::abs(value) * 1000) % 256);
    if (f.type == ElementType::i8) return static_cast<double>(static_cast<int>(value * 10) % 128);
    return static_cast<float>(value);
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

}  // namespace direct_forms
