// Named data sets that break nearest-neighbour codes: ties, cancellation, overflow, denormals, NaN, hostile order.
// Reproducible from (name, shape, seed) on every machine.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace adversarial {

// splitmix64; the distributions of <random> differ from library to library.
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}
    std::uint64_t bits() {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        return z ^ (z >> 31);
    }
    std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(n)); }
    double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
    // Four uniforms: close enough to a Gaussian, and the same bits everywhere.
    double gaussian() { return 1.7320508 * (uniform() + uniform() + uniform() + uniform() - 2); }

private:
    std::uint64_t state_;
};

// n points on a sphere of radius 1.
inline std::vector<float> sphere(std::int64_t n, std::int64_t d, Random& random) {
    std::vector<float> points(static_cast<std::size_t>(n * d));
    std::vector<double> row(static_cast<std::size_t>(d));
    for (std::int64_t i = 0; i < n; ++i) {
        double sum = 0;
        for (double& x : row) {
            x = random.gaussian();
            sum += x * x;
        }
        for (std::int64_t j = 0; j < d; ++j)
            points[static_cast<std::size_t>(i * d + j)] =
                static_cast<float>(row[static_cast<std::size_t>(j)] / std::sqrt(sum));
    }
    return points;
}

// Rows being made: the points, or the queries that go with them.
struct Rows {
    std::int64_t rows;
    std::int64_t d;
    bool queries;
    Random shared;  // the same for points and queries
    Random random;
    std::vector<double> values;

    double& at(std::int64_t i, std::int64_t j) { return values[i * d + j]; }
    template <class F>
    void each(F value) {
        for (std::int64_t i = 0; i < rows; ++i) {
            for (std::int64_t j = 0; j < d; ++j) at(i, j) = value(i, j);
        }
    }
    void gaussian() {
        each([&](std::int64_t, std::int64_t) { return random.gaussian(); });
    }
    void scale_row(std::int64_t i, double factor) {
        for (std::int64_t j = 0; j < d; ++j) at(i, j) *= factor;
    }
    double row_norm(std::int64_t i) {
        double sum = 0;
        for (std::int64_t j = 0; j < d; ++j) sum += at(i, j) * at(i, j);
        return sum == 0 ? 1 : std::sqrt(sum);
    }
};

inline void gaussian(Rows& r) {
    r.gaussian();
}

inline void uniform(Rows& r) {
    r.each([&](std::int64_t, std::int64_t) { return r.random.uniform(); });
}

// Ties everywhere, exact in every element type.
inline void integers(Rows& r) {
    r.each([&](std::int64_t, std::int64_t) { return double(r.random.below(4) - 1); });
}

// Rows drawn from a pool a fifth of their number.
inline void duplicates(Rows& r) {
    const std::int64_t pool = r.rows / 5 + 1;
    std::vector<double> values(pool * r.d);
    for (double& v : values) v = r.shared.gaussian();
    for (std::int64_t i = 0; i < r.rows; ++i) {
        const std::int64_t from = r.random.below(pool);
        for (std::int64_t j = 0; j < r.d; ++j) r.at(i, j) = values[from * r.d + j];
    }
}

inline void all_equal(Rows& r) {
    std::vector<double> row(r.d);
    for (double& v : row) v = r.shared.gaussian();
    r.each([&](std::int64_t, std::int64_t j) { return row[j]; });
}

// Far from the origin: |x|^2 + |q|^2 - 2 <q, x> in fp32 has no correct digit left.
inline void offset(Rows& r) {
    r.each([&](std::int64_t, std::int64_t) { return 1e4 + 1e-3 * r.random.gaussian(); });
}

inline void outlier(Rows& r) {
    r.gaussian();
    if (r.queries) return;
    for (std::int64_t j = 0; j < r.d; ++j) r.at(r.rows / 2, j) = 1e30;
}

// Norms over 24 orders of magnitude, and zero vectors.
inline void norms(Rows& r) {
    r.gaussian();
    for (std::int64_t i = 0; i < r.rows; ++i) {
        r.scale_row(i, i % 7 == 3 ? 0.0 : std::ldexp(1.0, int(r.random.below(80)) - 40));
    }
}

// Denormal in f16, f32 and f64, row by row.
inline void denormals(Rows& r) {
    r.gaussian();
    const int exponents[] = {-20, -140, -1060, -130, -1000, -60};
    for (std::int64_t i = 0; i < r.rows; ++i) {
        const int e = exponents[r.random.below(6)];
        for (std::int64_t j = 0; j < r.d; ++j) r.at(i, j) = std::ldexp(r.at(i, j), e);
    }
}

// Past the range of f32 above and below, within that of f64.
inline void beyond_f32(Rows& r) {
    r.gaussian();
    for (std::int64_t i = 0; i < r.rows; ++i) r.scale_row(i, std::ldexp(1.0, r.random.below(2) ? 180 : -180));
}

// Rows of about 1, 1e160 and 1e-170, the latter two close together: binary64 holds their distances, but not the
// squares.
inline void beyond_squares(Rows& r) {
    r.gaussian();
    for (std::int64_t i = 0; i < r.rows; ++i) {
        const std::int64_t kind = r.random.below(3);
        if (kind > 0) r.scale_row(i, std::ldexp(1.0, kind == 1 ? 532 : -565));
    }
}

inline void tiny(Rows& r) {
    r.gaussian();
    for (std::int64_t i = 0; i < r.rows; ++i) r.scale_row(i, 1e-170);
}

// Sentinels for no value: 1e200, or the largest number, in a few rows of ordinary ones.
inline void sentinels(Rows& r) {
    r.gaussian();
    for (std::int64_t i = 1; i < r.rows; i += 4) {
        r.at(i, r.random.below(r.d)) = i % 8 == 1 ? 1e200 : std::numeric_limits<double>::max();
        for (std::int64_t j = 0; j < r.d && i % 5 == 0; ++j) r.at(i, j) = 1e200 * (1 + 1e-3 * r.random.gaussian());
    }
}

inline void nan_rows(Rows& r) {
    r.gaussian();
    for (std::int64_t i = 1; i < r.rows; i += 3)
        r.at(i, r.random.below(r.d)) = std::numeric_limits<double>::quiet_NaN();
}

inline void infinities(Rows& r) {
    r.gaussian();
    const double infinity = std::numeric_limits<double>::infinity();
    for (std::int64_t i = 1; i < r.rows; i += 3) {
        r.at(i, r.random.below(r.d)) = i % 2 ? infinity : -infinity;
        for (std::int64_t j = 0; j < r.d && i % 5 == 0; ++j) r.at(i, j) = infinity;
    }
}

// Points of {0, 1, 2}^d in counting order.
inline void lattice(Rows& r) {
    r.each([&](std::int64_t i, std::int64_t j) {
        std::int64_t rest = r.queries ? i * 7 : i;
        for (std::int64_t digit = 0; digit < j % 12; ++digit) rest /= 3;
        return double(rest % 3);
    });
}

// Row i at distance i + 1 (ascending) or rows - i from the origin, where the queries are.
inline void by_distance(Rows& r, bool ascending) {
    r.gaussian();
    for (std::int64_t i = 0; i < r.rows; ++i) {
        const double distance = r.queries ? 1e-3 : double(ascending ? i + 1 : r.rows - i);
        r.scale_row(i, distance / r.row_norm(i));
    }
}
inline void ascending(Rows& r) {
    by_distance(r, true);
}
inline void descending(Rows& r) {
    by_distance(r, false);
}

// All points at one distance from the queries as far as f32 can tell, at different ones in f64.
inline void shell(Rows& r) {
    r.gaussian();
    for (std::int64_t i = 0; i < r.rows; ++i) {
        const double distance = r.queries ? 1e-9 : 1 + 1e-8 * r.random.gaussian();
        r.scale_row(i, distance / r.row_norm(i));
    }
}

inline void unit(Rows& r) {
    r.gaussian();
    for (std::int64_t i = 0; i < r.rows; ++i) r.scale_row(i, 1 / r.row_norm(i));
}

inline void clusters(Rows& r) {
    constexpr int count = 8;
    std::vector<double> centres(count * r.d);
    for (double& v : centres) v = 10 * r.shared.gaussian();
    for (std::int64_t i = 0; i < r.rows; ++i) {
        const std::int64_t c = r.random.below(count);
        for (std::int64_t j = 0; j < r.d; ++j) r.at(i, j) = centres[c * r.d + j] + 1e-4 * r.random.gaussian();
    }
}

// Queries a hundred times as long as the points, which differ little: a bound that forgets a query's length fails.
inline void long_queries(Rows& r) {
    constexpr int count = 20;
    std::vector<double> centres(count * r.d);
    for (double& v : centres) v = r.shared.gaussian();
    for (std::int64_t i = 0; i < r.rows; ++i) {
        const std::int64_t c = r.random.below(count);
        const double length = r.queries ? 100 : 1;
        for (std::int64_t j = 0; j < r.d; ++j)
            r.at(i, j) = length * (centres[c * r.d + j] + 3e-3 * r.random.gaussian());
    }
}

// Rows that sum to one, a fifth of the entries zero.
inline void probabilities(Rows& r) {
    r.each([&](std::int64_t, std::int64_t) { return r.random.below(5) ? std::exp(r.random.gaussian()) : 0.0; });
    for (std::int64_t i = 0; i < r.rows; ++i) {
        double sum = 0;
        for (std::int64_t j = 0; j < r.d; ++j) sum += r.at(i, j);
        if (sum > 0) r.scale_row(i, 1 / sum);
    }
}

// THE list of data sets.
inline const std::map<std::string, void (*)(Rows&)>& makers() {
    static const std::map<std::string, void (*)(Rows&)> all = {
        {"gaussian", gaussian},
        {"uniform", uniform},
        {"integers", integers},
        {"duplicates", duplicates},
        {"all_equal", all_equal},
        {"offset", offset},
        {"outlier", outlier},
        {"norms", norms},
        {"denormals", denormals},
        {"beyond_f32", beyond_f32},
        {"beyond_squares", beyond_squares},
        {"tiny", tiny},
        {"sentinels", sentinels},
        {"nan_rows", nan_rows},
        {"infinities", infinities},
        {"lattice", lattice},
        {"ascending", ascending},
        {"descending", descending},
        {"shell", shell},
        {"unit", unit},
        {"clusters", clusters},
        {"long_queries", long_queries},
        {"probabilities", probabilities},
    };
    return all;
}

inline std::vector<std::string> names() {
    std::vector<std::string> out;
    for (const auto& [name, maker] : makers()) out.push_back(name);
    return out;
}

struct DataSet {
    std::int64_t n, q, d;
    std::vector<double> points, queries;  // row-major
};

// n points and q queries in d dimensions; every third query is a copy of a point. `non_negative`: coordinates lose
// their sign.
inline DataSet make(const std::string& name, std::int64_t n, std::int64_t q, std::int64_t d, std::uint64_t seed,
                    bool non_negative = false) {
    const auto maker = makers().find(name);
    if (maker == makers().end()) throw std::logic_error("no data set '" + name + "' in tests/support/adversarial.h");
    Rows points{n, d, false, Random(seed), Random(2 * seed + 1), std::vector<double>(n * d)};
    Rows queries{q, d, true, Random(seed), Random(2 * seed + 2), std::vector<double>(q * d)};
    maker->second(points);
    maker->second(queries);
    for (std::int64_t i = 2; i < q; i += 3) {
        const std::int64_t from = points.random.below(n);
        for (std::int64_t j = 0; j < d; ++j) queries.at(i, j) = points.at(from, j);
    }
    if (non_negative) {
        for (double& v : points.values) v = std::fabs(v);
        for (double& v : queries.values) v = std::fabs(v);
    }
    return {n, q, d, std::move(points.values), std::move(queries.values)};
}

// Rows of whole numbers, all of one length and hardly two equal: no filter tells them apart, seen from their centre.
inline std::vector<float> equally_long(std::int64_t n, std::int64_t d, std::uint64_t seed) {
    constexpr int length2 = 4000, most = 40;
    Random random(seed);
    std::vector<float> points;
    while (static_cast<std::int64_t>(points.size()) < n * d) {
        std::vector<float> row;
        int left = length2;
        for (std::int64_t j = 0; j + 1 < d; ++j) {
            const int x = static_cast<int>(random.below(2 * most + 1)) - most;
            row.push_back(static_cast<float>(x));
            left -= x * x;
        }
        const int root = left < 0 ? -1 : static_cast<int>(std::lround(std::sqrt(left)));
        if (root * root != left) continue;
        row.push_back(static_cast<float>(root));
        points.insert(points.end(), row.begin(), row.end());
    }
    return points;
}

}  // namespace adversarial
