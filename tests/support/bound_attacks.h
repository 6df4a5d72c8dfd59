// Data made to use up what a filter's bound allows for: rounding residuals that add up, products that cancel or that
// matrix units align away, the ends of fp16 and of the scaling. Reproducible from (name, d, seed).
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "adversarial.h"

namespace bound_attacks {

// As adversarial::DataSet, being made.
struct Data {
    std::int64_t n, q, d;
    bool precise;  // f32 or f64 only: other elements would round the attack away
    adversarial::Random random;
    std::vector<double> points, queries;

    Data(std::int64_t points_, std::int64_t queries_, std::int64_t d_, std::uint64_t seed)
        : n(points_), q(queries_), d(d_), precise(false), random(seed), points(n * d), queries(q * d) {}
    void put_point(std::int64_t i, const std::vector<double>& v, double factor) {
        for (std::int64_t j = 0; j < d; ++j) points[i * d + j] = v[j] * factor;
    }
    void put_query(std::int64_t i, const std::vector<double>& v, double factor) {
        for (std::int64_t j = 0; j < d; ++j) queries[i * d + j] = v[j] * factor;
    }
    // True if the filter may look at it to find its centre and scale: at 128 or 256 rows, evenly spaced.
    bool sampled(std::int64_t row) const {
        for (const std::int64_t most : {128, 256}) {
            const std::int64_t samples = std::min(n, most), s = (row * samples + n - 1) / n;
            if (s < samples && s * n / samples == row) return true;
        }
        return false;
    }
    std::vector<double> gaussian() {
        std::vector<double> v(d);
        for (double& x : v) x = random.gaussian();
        return v;
    }
    double power(std::int64_t low, std::int64_t high) {
        return std::ldexp(1.0, static_cast<int>(low + random.below(high - low + 1)));
    }
    double sign() { return random.below(2) ? 1.0 : -1.0; }
};

inline void make_unit(std::vector<double>& v) {
    double sum = 0;
    for (const double x : v) sum += x * x;
    for (double& x : v) x /= sum > 0 ? std::sqrt(sum) : 1;
}

// Norm 1, nearly every coordinate just off the middle between two numbers of `bits` places, where these are farthest
// apart for their size. `side`: all a little above the middle (1), below (-1), or some of both (0).
inline std::vector<double> midpoints(Data& data, int bits, int side) {
    const std::int64_t d = data.d;
    const double size = std::exp2(std::floor(-std::log2(static_cast<double>(d)) / 2) - (d < 4 ? 1 : 0));
    std::vector<double> v;
    double rest = 1;
    for (std::int64_t j = 0; j + 1 < d && rest >= 2 * size * size; ++j) {
        const bool above = side == 0 ? data.random.below(2) : side > 0;
        const double x = (1 + std::ldexp(above ? 1.002 : 0.998, -bits)) * size;
        v.push_back(data.sign() * x);
        rest -= x * x;
    }
    if (static_cast<std::int64_t>(v.size()) < d) v.push_back(std::sqrt(rest));
    v.resize(d, 0.0);
    return v;
}

// The signs of what rounding to `bits` places takes from v: of few bits, so that its own residual is small.
inline std::vector<double> residual_signs(const std::vector<double>& v, int bits) {
    std::vector<double> u;
    for (const double x : v) {
        int exponent = 0;
        const double mantissa = std::ldexp(std::frexp(x, &exponent), bits);
        u.push_back(mantissa > std::nearbyint(mantissa) ? 1 : -1);
    }
    make_unit(u);
    return u;
}

// Vectors at midpoints and vectors along their residuals, on both sides, at every ratio of norms.
inline void residuals(Data& data, int bits) {
    data.precise = true;
    for (int side = -1; side <= 1; ++side) {
        const std::vector<double> v = midpoints(data, bits, side), along = residual_signs(v, bits);
        for (std::int64_t i = side + 1; i < data.n; i += 3) {
            const std::int64_t turn = i / 3;
            data.put_point(i, turn / 2 % 2 ? v : along, (turn % 2 ? 1 : -1) * std::ldexp(1.0, -int(turn / 4 % 12)));
        }
        for (std::int64_t i = side + 1; i < data.q; i += 3) {
            const std::int64_t turn = i / 3;
            data.put_query(i, turn / 2 % 2 ? v : along, (turn % 2 ? 1 : -1) * std::ldexp(1.0, 2 - int(turn / 4 % 6)));
        }
    }
}
inline void residuals_11(Data& data) {
    residuals(data, 11);
}
inline void residuals_22(Data& data) {
    residuals(data, 22);
}

inline void norm_spread(Data& data) {
    for (std::int64_t i = 0; i < data.n; ++i) data.put_point(i, data.gaussian(), data.power(-30, 30));
    for (std::int64_t i = 0; i < data.q; ++i) data.put_query(i, data.gaussian(), data.power(-30, 30));
}

// Products of one sign: every truncation of a sum goes the same way.
inline void one_sign(Data& data) {
    const auto vector = [&] {
        std::vector<double> v(data.d);
        for (double& x : v) x = 1 + std::abs(data.random.gaussian()) * 1e-3;
        return v;
    };
    for (std::int64_t i = 0; i < data.n; ++i) data.put_point(i, vector(), data.sign() * data.power(-8, 4));
    for (std::int64_t i = 0; i < data.q; ++i) data.put_query(i, vector(), data.sign() * data.power(-8, 4));
}

// Large products that cancel: the sum is small against its parts.
inline void cancellation(Data& data) {
    const std::vector<double> base = data.gaussian();
    const auto vector = [&](bool flip) {
        std::vector<double> v = base;
        for (std::int64_t j = 0; j < data.d; ++j)
            v[j] *= (1 + 1e-3 * data.random.gaussian()) * (flip && j % 2 ? -1 : 1);
        return v;
    };
    for (std::int64_t i = 0; i < data.n; ++i) data.put_point(i, vector(i % 2), data.sign());
    for (std::int64_t i = 0; i < data.q; ++i) data.put_query(i, vector(false), data.sign() * data.power(-3, 3));
}

// One huge product, against which the others lie below the last place; it cancels what the sum starts from, or not.
inline void one_huge(Data& data) {
    const auto vector = [&](std::int64_t at) {
        std::vector<double> v(data.d);
        for (double& x : v) x = (1 + data.random.uniform()) * 0x1p-9;
        v[at] = data.sign();
        return v;
    };
    const std::int64_t places[] = {0, data.d / 2, data.d - 1};
    for (std::int64_t i = 0; i < data.n; ++i) data.put_point(i, vector(places[i % 3]), data.power(-2, 2));
    for (std::int64_t i = 0; i < data.q; ++i) data.put_query(i, vector(places[i / 3 % 3]), data.power(-2, 2));
}

// Makes all points that may be sampled of norm 1, which the filter brings near 32, in pairs that cancel, so that an
// attack can aim at a place on fp16's axis. Returns the others.
inline std::vector<std::int64_t> typical(Data& data) {
    std::vector<std::int64_t> others;
    std::vector<double> v;
    double side = 1;
    for (std::int64_t i = 0; i < data.n; ++i) {
        if (!data.sampled(i)) {
            others.push_back(i);
            continue;
        }
        if (side > 0) {
            v = data.gaussian();
            make_unit(v);
        }
        data.put_point(i, v, side);
        side = -side;
    }
    return others;
}

// Coordinates about fp16's largest number, and beyond it.
inline void largest(Data& data) {
    data.precise = true;
    const double values[] = {65504, 65512, 65519.9, 65520, 65536, 65500, 32000, 1e6};
    for (const std::int64_t i : typical(data)) {
        std::vector<double> v = data.gaussian();
        v[data.random.below(data.d)] = data.sign() * values[data.random.below(8)];
        data.put_point(i, v, data.random.below(2) ? 0x1p-5 : 0x1p-6);
    }
    for (std::int64_t i = 0; i < data.q; ++i) {
        std::vector<double> v = data.gaussian();
        v[data.random.below(data.d)] = data.sign() * values[data.random.below(8)];
        data.put_query(i, v, i % 3 ? 0x1p-5 : 0x1p-9);
    }
}

// Coordinates of few and of half units of fp16's smallest number.
inline void denormals(Data& data) {
    data.precise = true;
    const double unit = 0x1p-24 / 32, parts[] = {0.5, 0.51, 0.49, 1.5, 2.5, 1, 3, 0.1};
    const auto vector = [&](bool whole) {
        std::vector<double> v(data.d);
        for (double& x : v)
            x = unit * data.sign() * (whole ? double(data.random.below(300)) : parts[data.random.below(8)]);
        return v;
    };
    for (const std::int64_t i : typical(data)) data.put_point(i, vector(i % 2), data.power(0, 3));
    for (std::int64_t i = 0; i < data.q; ++i) data.put_query(i, vector(i % 2), data.power(0, i % 4 ? 3 : 22));
}

// Data so small that the scale is at its limit, and fp16's numbers are coarse: all vectors round by much, and away from
// zero or towards it together.
inline void limit_of_scale(Data& data) {
    data.precise = true;
    const double unit = 0x1p-424, parts[] = {1.51, 1.6, 2.49, 2.51, 1.49, 0.51};
    const auto row = [&](std::int64_t i, auto put) {
        std::vector<double> v(data.d);
        for (double& x : v) x = i / 2 % 4 == 3 ? 3 * data.random.gaussian() : parts[i / 2 % 6];
        put(i, v, i % 2 ? unit : -unit);
    };
    for (std::int64_t i = 0; i < data.n; ++i)
        row(i, [&](std::int64_t at, const auto& v, double factor) { data.put_point(at, v, factor); });
    for (std::int64_t i = 0; i < data.q; ++i)
        row(i, [&](std::int64_t at, const auto& v, double factor) { data.put_query(at, v, factor); });
}

inline void below_f32(Data& data) {
    for (std::int64_t i = 0; i < data.n; ++i) data.put_point(i, data.gaussian(), data.power(-142, -130));
    for (std::int64_t i = 0; i < data.q; ++i) data.put_query(i, data.gaussian(), data.power(-142, -130));
}

inline void mixed_scales(Data& data) {
    const auto vector = [&] {
        std::vector<double> v = data.gaussian();
        for (std::int64_t j = 0; j < data.d; ++j) v[j] = std::ldexp(v[j], int(j * 7 % 41) - 20);
        return v;
    };
    for (std::int64_t i = 0; i < data.n; ++i) data.put_point(i, vector(), 1);
    for (std::int64_t i = 0; i < data.q; ++i) data.put_query(i, vector(), 1);
}

// Zeros, and few coordinates of any size.
inline void sparse(Data& data) {
    const auto vector = [&] {
        std::vector<double> v(data.d);
        for (double& x : v) x = data.random.below(8) ? 0 : data.random.gaussian() * data.power(-20, 20);
        return v;
    };
    for (std::int64_t i = 0; i < data.n; ++i) data.put_point(i, vector(), 1);
    for (std::int64_t i = 0; i < data.q; ++i) data.put_query(i, vector(), 1);
}

// Directions around a common one, which is taken off unit vectors: near it, far from it, opposite, and none at all.
inline void common_direction(Data& data) {
    const std::vector<double> profile = data.gaussian();
    const double spread = data.power(-12, -3);
    const auto vector = [&](std::int64_t i) {
        std::vector<double> v = data.gaussian();
        const double own = i % 13 == 5 ? 1 : i % 7 == 3 ? spread / 64 : spread, along = i % 17 == 4 ? -1 : 1;
        for (std::int64_t j = 0; j < data.d; ++j) v[j] = i % 11 == 6 ? 0 : along * profile[j] + own * v[j];
        return v;
    };
    for (std::int64_t i = 0; i < data.n; ++i) data.put_point(i, vector(i), data.power(-30, 30));
    for (std::int64_t i = 0; i < data.q; ++i) data.put_query(i, vector(i), data.power(-30, 30));
}

inline const std::map<std::string, void (*)(Data&)>& makers() {
    static const std::map<std::string, void (*)(Data&)> all = {
        {"residuals of 11 bits", residuals_11},
        {"residuals of 22 bits", residuals_22},
        {"norm spread", norm_spread},
        {"one sign", one_sign},
        {"cancellation", cancellation},
        {"one huge", one_huge},
        {"fp16's largest", largest},
        {"fp16's denormals", denormals},
        {"the limit of the scale", limit_of_scale},
        {"below f32", below_f32},
        {"mixed scales", mixed_scales},
        {"sparse", sparse},
        {"a common direction", common_direction},
    };
    return all;
}

// For an attack, or of a data set of adversarial.h.
inline Data make(const std::string& name, std::int64_t n, std::int64_t q, std::int64_t d, std::uint64_t seed) {
    Data data(n, q, d, seed);
    if (const auto maker = makers().find(name); maker != makers().end()) {
        maker->second(data);
    } else {
        adversarial::DataSet set = adversarial::make(name, n, q, d, seed);
        data.points = std::move(set.points);
        data.queries = std::move(set.queries);
    }
    return data;
}

inline std::vector<std::string> names() {
    std::vector<std::string> out = adversarial::names();
    for (const auto& [name, maker] : makers()) out.push_back(name);
    return out;
}

}  // namespace bound_attacks
