// Data made to use up what a filter of cross entropies allows for: binary64's logarithms, coordinates that are 0 or
// next to it, rounding residuals, infinite keys whose values are as small as they can be. Reproducible from (name, d,
// seed).
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "bound_attacks.h"

namespace entropy_attacks {

using bound_attacks::Data;
using Coordinate = std::function<double(Data&, std::int64_t row, std::int64_t column)>;

inline double exponential(Data& data) {
    return -std::log(1 - data.random.uniform());
}

inline void each(Data& data, const Coordinate& point, const Coordinate& query) {
    for (std::int64_t i = 0; i < data.n * data.d; ++i) data.points[i] = point(data, i / data.d, i % data.d);
    for (std::int64_t i = 0; i < data.q * data.d; ++i) data.queries[i] = query(data, i / data.d, i % data.d);
}
inline void each(Data& data, const Coordinate& both) {
    each(data, both, both);
}

// Logarithms of points that rounding to fp16 moves together, and queries along them.
inline void residuals(Data& data) {
    for (std::int64_t i = 0; i < data.n; ++i) {
        const std::vector<double> v = bound_attacks::midpoints(data, 11, static_cast<int>(i % 3) - 1);
        const double size = std::ldexp(i % 2 ? 1.0 : -1.0, -static_cast<int>(i / 6 % 8));
        for (std::int64_t j = 0; j < data.d; ++j) data.points[i * data.d + j] = std::exp(size * v[j]);
    }
    for (std::int64_t i = 0; i < data.q; ++i) {
        const std::vector<double> u = bound_attacks::midpoints(data, 11, static_cast<int>(i % 3) - 1);
        for (std::int64_t j = 0; j < data.d; ++j) data.queries[i * data.d + j] = i % 2 ? std::abs(u[j]) : 1;
    }
}

// Points of one logarithm in all coordinates but one that is 0: half of a typical length, to either side, a quarter in
// the middle, the others of up to nine times that. Queries along them, whose share of that coordinate is as small as
// can be.
inline void low_and_infinite(Data& data) {
    const double shares[] = {1, 0x1p-10, 0x1p-17, 0x1p-18, 0x1p-40, 0};
    each(
        data,
        [](Data& all, std::int64_t i, std::int64_t j) {
            const std::int64_t turn = i / 4;
            const double length = i % 4 ? 1 + 0.01 * all.random.uniform() : 1 + static_cast<double>(turn / 4 % 17) / 2;
            const double side = i % 4 == 1 ? 1 : i % 4 == 2 ? -1 : i % 4 == 3 ? 0 : turn % 2 ? 1 : -1;
            return i % 4 == 0 && i % 5 && j == turn / 2 % 2 ? 0.0 : std::exp(side * length);
        },
        [&](Data&, std::int64_t i, std::int64_t j) { return j == i / 6 % 2 ? shares[i % 6] : 1.0; });
}

inline const std::map<std::string, void (*)(Data&)>& makers() {
    static const std::map<std::string, void (*)(Data&)> all = {
        {"histograms", [](Data& data) { each(data, [](Data& m, auto, auto) { return exponential(m); }); }},
        {"not normalised",
         [](Data& data) {
             each(data, [](Data& m, std::int64_t i, auto) {
                 return exponential(m) * std::ldexp(1.0, static_cast<int>(i * 7 % 61) - 30);
             });
         }},
        {"many sizes",
         [](Data& data) { each(data, [](Data& m, auto, auto) { return std::exp(20 * m.random.gaussian()); }); }},
        {"columns of zeros",
         [](Data& data) { each(data, [](Data& m, auto, std::int64_t j) { return j % 3 == 1 ? 0 : exponential(m); }); }},
        {"some zeros",
         [](Data& data) { each(data, [](Data& m, auto, auto) { return m.random.below(32) ? exponential(m) : 0; }); }},
        {"zeros of the other sign",
         [](Data& data) { each(data, [](Data& m, auto, auto) { return m.random.below(8) ? exponential(m) : -0.0; }); }},
        {"sparse",
         [](Data& data) { each(data, [](Data& m, auto, auto) { return m.random.below(8) ? 0 : exponential(m); }); }},
        {"tiny shares",
         [](Data& data) {
             each(data, [](Data& m, auto, std::int64_t j) {
                 return j == 0 ? 1 : m.random.below(16) ? exponential(m) : 1e-37;
             });
         }},
        {"tiny shares or zeros",
         [](Data& data) {
             each(data, [](Data& m, auto, std::int64_t j) { return j == 0 ? 1 : m.random.below(2) ? 1e-37 : 0; });
         }},
        {"one share",
         [](Data& data) {
             each(
                 data,
                 [](Data& m, std::int64_t i, auto) {
                     return std::exp(static_cast<double>(i % 3 - 1) + 0.01 * m.random.uniform());
                 },
                 [](Data&, auto, std::int64_t j) { return j == 0 ? 1 : 0x1p-40; });
         }},
        {"nearly equal",
         [](Data& data) {
             each(data, [](Data& m, auto, std::int64_t j) {
                 return 1 + static_cast<double>(j) + 1e-14 * m.random.gaussian();
             });
         }},
        {"nearly equal and small",
         [](Data& data) {
             each(data, [](Data& m, auto, std::int64_t j) {
                 return std::ldexp(1 + 1e-15 * m.random.gaussian(), -120 - static_cast<int>(j % 29));
             });
         }},
        {"denormals of f32",
         [](Data& data) {
             each(data, [](Data& m, auto, auto) {
                 return std::ldexp(1 + std::floor(8 * m.random.uniform()), -149 + static_cast<int>(m.random.below(20)));
             });
         }},
        {"ends of what is covered",
         [](Data& data) {
             const double ends[] = {0x1p-500, 0x1p500, 0x0.fp-500, 0x1.1p500, 0x1p-1050, 1, 0};
             each(data,
                  [&](Data& m, auto, auto) { return m.random.below(40) ? exponential(m) : ends[m.random.below(7)]; });
         }},
        {"residuals of logarithms", residuals},
        {"low and infinite", low_and_infinite},
        // Every point is infinitely far; some are beyond what is covered.
        {"without an end",
         [](Data& data) {
             each(
                 data, [](Data&, std::int64_t i, std::int64_t j) { return i % 130 == 15 && j == 0 ? 1e-200 : 0.0; },
                 [](Data&, auto, auto) { return 1.0; });
         }},
    };
    return all;
}

inline Data make(const std::string& name, std::int64_t n, std::int64_t q, std::int64_t d, std::uint64_t seed) {
    Data data(n, q, d, seed);
    makers().at(name)(data);
    data.precise = name.starts_with("nearly") || name.starts_with("ends") || name.starts_with("residuals");
    return data;
}

}  // namespace entropy_attacks
