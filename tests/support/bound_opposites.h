// Data in which a neighbour hangs by one term of a filter's threshold: rounding moves its value as far up as it can,
// and that of its opposite, as far down.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bound_opposites {

// How far from the middle between two rounded numbers coordinates lie, relative to numbers of about 1.
inline constexpr double off = 0x1p-20;

struct Midpoints {
    std::vector<double> query, along;  // the signs of the residuals
    // Coordinates next to `middle`, of alternately positive and negative residual.
    Midpoints(std::int64_t pairs, double middle) {
        for (std::int64_t i = 0; i < 2 * pairs; ++i) {
            along.push_back(i % 2 ? -1 : 1);
            query.push_back(middle - off * along.back());
        }
    }
};

inline void append(std::vector<double>& rows, const std::vector<double>& row, double factor) {
    for (const double x : row) rows.push_back(factor * x);
}

struct Opposites {
    std::vector<double> query, neighbour;  // the opposite is -neighbour
};

// For squares of coordinates rounded to `bits`: the residuals of the query and of the points both count. For the two
// last coordinates, which are exact, one makes the neighbour nearer, the other is free.
inline Opposites squares(int bits) {
    const double middle = 2 - std::ldexp(1.0, -bits);
    const Midpoints u(32, middle);
    Opposites out{u.query, {}};
    for (const double sign : u.along) out.neighbour.push_back(sign * middle - off);
    out.query.insert(out.query.end(), {1, 0});
    out.neighbour.insert(out.neighbour.end(), {0x1p-10, 0});
    return out;
}

// For unit vectors, their norm being 8: the residual of the query counts, the points are exact.
inline Opposites units(int bits) {
    const Midpoints u(31, 1 + std::ldexp(1.0, -bits));
    Opposites out{u.query, u.along};
    double rest = 64 - 0x1p-20;
    for (const double x : u.query) rest -= x * x;
    out.query.insert(out.query.end(), {0x1p-10, 0, std::sqrt(rest)});
    out.neighbour.insert(out.neighbour.end(), {1, 1, 0});
    return out;
}

// The opposite first, then the neighbour.
inline std::vector<double> points(const Opposites& data) {
    std::vector<double> rows;
    append(rows, data.neighbour, -1);
    append(rows, data.neighbour, 1);
    return rows;
}

}  // namespace bound_opposites
