// The oracle: nearest neighbours by definition, one plain loop in binary64 per metric (docs/exactness.md, sections
// 1-3). It shares no code with src/: element types are decoded here, every formula is written out here.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "kith/types.h"

namespace oracle {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

// ---------------------------------------------------------------- elements

// A little IEEE float of `exponent` and `mantissa` bits below its sign, by the standard's definition.
inline double decode_float(unsigned bits, int exponent, int mantissa) {
    const int bias = (1 << (exponent - 1)) - 1;
    const int e = static_cast<int>(bits >> mantissa) & ((1 << exponent) - 1);
    const int m = static_cast<int>(bits) & ((1 << mantissa) - 1);
    const double sign = (bits >> (exponent + mantissa)) & 1u ? -1.0 : 1.0;
    if (e == (1 << exponent) - 1) return m ? std::numeric_limits<double>::quiet_NaN() : sign * infinity;
    if (e == 0) return sign * std::ldexp(m, 1 - bias - mantissa);
    return sign * std::ldexp((1 << mantissa) + m, e - bias - mantissa);
}

inline double element(const void* data, kith::ElementType type, std::int64_t i) {
    switch (type) {
        case kith::ElementType::f32:
            return static_cast<const float*>(data)[i];
        case kith::ElementType::f64:
            return static_cast<const double*>(data)[i];
        case kith::ElementType::f16:
            return decode_float(static_cast<const kith::float16*>(data)[i].bits, 5, 10);
        case kith::ElementType::bf16:
            return decode_float(static_cast<const kith::bfloat16*>(data)[i].bits, 8, 7);
        case kith::ElementType::i8:
            return static_cast<const signed char*>(data)[i];
        case kith::ElementType::u8:
            return static_cast<const unsigned char*>(data)[i];
        default:
            throw std::logic_error("tests/support/oracle.h: add the element type to element()");
    }
}

// Rows of binary64.
struct Matrix {
    std::int64_t rows = 0;
    std::int64_t cols = 0;
    std::vector<double> values;
    const double* row(std::int64_t i) const { return values.data() + i * cols; }
};

inline Matrix decode(const kith::MatrixView& m) {
    Matrix out{m.rows, m.cols, {}};
    for (std::int64_t i = 0; i < m.rows; ++i) {
        for (std::int64_t j = 0; j < m.cols; ++j) {
            const bool by_rows = m.layout == kith::Layout::row_major;
            out.values.push_back(element(m.data, m.type, by_rows ? i * m.stride + j : j * m.stride + i));
        }
    }
    return out;
}

// ---------------------------------------------------------------- metrics

struct Parameters {
    double p = 2.0;                          // minkowski
    std::vector<double> inverse_covariance;  // mahalanobis, d x d
    std::vector<double> variances;           // seuclidean, d
    bool packed_bits = false;                // Definition::packed_bits
};

struct Pair {
    const double* q;
    const double* x;
    int d;
};

// A result, and how far from it a correct implementation may be: 0 where the formula needs + - * / sqrt only.
struct Value {
    double value;
    double slack = 0.0;
};

struct Definition {
    // What neighbours are ordered by, the smallest first.
    Value (*rank)(const Pair&, const Parameters&);
    // Rank to distance.
    Value (*report)(double rank, int d, const Parameters&);
    bool similarity = false;
    // What is asked of the coordinates: none below zero, so many in a row (0: any), none of a larger magnitude than
    // that of its column.
    bool non_negative = false;
    int dimensions = 0;
    std::vector<double> largest{};  // of each coordinate; none: any
    // Parameters::packed_bits serves it.
    bool packed_bits = false;
    // Its functions read what belongs to the thread that asks.
    bool of_one_thread = false;
};

// Relative slack of formulas with a logarithm or a fractional power.
inline constexpr double loose = 1e-12;

// Accumulates step(partial, i) over coordinates i in the canonical order: partial i mod 32, then the tree.
template <class Step, class Join>
double canonical(int d, Step step, Join join) {
    double partial[32] = {};
    for (int i = 0; i < d; ++i) partial[i % 32] = step(partial[i % 32], i);
    for (int distance : {16, 8, 4, 2, 1}) {
        for (int j = 0; j < distance; ++j) partial[j] = join(partial[j], partial[j ^ distance]);
    }
    return partial[0];
}
template <class Step>
double canonical_fold(int d, Step step) {
    return canonical(d, step, [](double a, double b) { return a + b; });
}
template <class Term>
double canonical_sum(int d, Term term) {
    return canonical_fold(d, [&](double a, int i) { return a + term(i); });
}

inline Value as_it_is(double rank, int, const Parameters&) {
    return {rank};
}
inline Value root(double rank, int, const Parameters&) {
    return {std::sqrt(rank < 0 ? 0.0 : rank)};
}

inline Value sqeuclidean(const Pair& v, const Parameters&) {
    return {canonical_fold(v.d, [&](double a, int i) { return std::fma(v.q[i] - v.x[i], v.q[i] - v.x[i], a); })};
}

inline Value cityblock(const Pair& v, const Parameters&) {
    return {canonical_sum(v.d, [&](int i) { return std::fabs(v.q[i] - v.x[i]); })};
}

// The largest of the differences that there are: inf - inf is none, as in scipy.
inline Value chebyshev(const Pair& v, const Parameters&) {
    double largest = 0.0;
    for (int i = 0; i < v.d; ++i) {
        const double difference = std::fabs(v.q[i] - v.x[i]);
        if (difference > largest) largest = difference;
    }
    return {largest};
}

// A power that repeated products define, and so to the last bit.
inline bool whole_power(double p) {
    return p == std::floor(p) && p <= 16;
}

inline Value minkowski(const Pair& v, const Parameters& params) {
    if (std::isinf(params.p)) return chebyshev(v, params);
    double denormal = 0;  // what denormal terms may lose
    const double sum = canonical_sum(v.d, [&](int i) {
        const double t = std::fabs(v.q[i] - v.x[i]);
        if (t > 0) denormal = 1e-318;
        if (!whole_power(params.p)) return std::pow(t, params.p);
        double power = t;
        for (int factor = 2; factor <= params.p; ++factor) power *= t;
        return power;
    });
    return {sum, whole_power(params.p) || std::isinf(sum) ? 0.0 : loose * sum + denormal};
}
inline Value minkowski_report(double rank, int, const Parameters& params) {
    if (std::isinf(params.p) || params.p == 1) return {rank};
    if (params.p == 2) return {std::sqrt(rank)};
    const double distance = std::pow(rank < 0 ? 0.0 : rank, 1 / params.p);
    return {distance, std::isinf(distance) ? 0.0 : loose * distance};
}

inline double product(const double* a, const double* b, int d) {
    return canonical_fold(d, [&](double sum, int i) { return std::fma(a[i], b[i], sum); });
}
inline Value cosine(const Pair& v, const Parameters&) {
    const double qq = product(v.q, v.q, v.d), xx = product(v.x, v.x, v.d);
    if (qq == 0 || xx == 0) return {1.0};
    const double distance = 1 - product(v.q, v.x, v.d) / std::sqrt(qq * xx);
    return {std::isnan(distance) ? distance : std::min(2.0, std::max(0.0, distance))};
}

inline std::vector<double> centred(const double* v, int d) {
    const double mean = canonical_sum(d, [&](int i) { return v[i]; }) / d;
    std::vector<double> out(v, v + d);
    for (double& value : out) value -= mean;
    return out;
}
inline Value correlation(const Pair& v, const Parameters& params) {
    const auto q = centred(v.q, v.d), x = centred(v.x, v.d);
    return cosine({q.data(), x.data(), v.d}, params);
}

inline Value inner_product(const Pair& v, const Parameters&) {
    return {-canonical_fold(v.d, [&](double a, int i) { return std::fma(v.q[i], v.x[i], a); })};
}
inline Value negative(double rank, int, const Parameters&) {
    return {rank == 0 ? 0.0 : -rank};
}

inline Value hellinger(const Pair& v, const Parameters&) {
    return {canonical_fold(v.d, [&](double a, int i) {
        const double t = std::sqrt(v.q[i]) - std::sqrt(v.x[i]);
        return std::fma(t, t, a);
    })};
}
inline Value hellinger_report(double rank, int, const Parameters&) {
    return {std::sqrt(rank) / std::sqrt(2.0)};
}

// The sum of terms that are each right to `loose`.
template <class Term>
Value loose_sum(int d, Term term) {
    double magnitude = 0;
    const double sum = canonical_sum(d, [&](int i) {
        const double t = term(i);
        magnitude += std::fabs(t);
        return t;
    });
    return {sum, std::isfinite(magnitude) ? loose * magnitude : 0.0};
}

inline double relative_entropy(double p, double m) {
    const double ratio = p / m;
    if (p == 0 || std::isnormal(ratio)) return p == 0 ? 0.0 : p * std::log(ratio);
    return static_cast<double>(p * std::log(static_cast<long double>(p) / m));
}

inline Value kl_divergence(const Pair& v, const Parameters&) {
    return loose_sum(v.d, [&](int i) { return relative_entropy(v.q[i], v.x[i]); });
}

inline std::vector<double> normalised(const double* v, int d) {
    const double sum = canonical_sum(d, [&](int i) { return v[i]; });
    std::vector<double> out(v, v + d);
    for (double& value : out) value = sum == 0 ? value : value / sum;
    return out;
}
inline Value jensenshannon(const Pair& v, const Parameters&) {
    const auto q = normalised(v.q, v.d), x = normalised(v.x, v.d);
    double magnitude = 0;
    const Value sum = loose_sum(v.d, [&](int i) {
        const double m = (q[i] + x[i]) / 2;
        const double left = relative_entropy(q[i], m), right = relative_entropy(x[i], m);
        magnitude += std::fabs(left) + std::fabs(right);
        return left + right;
    });
    // Where one vector is a multiple of the other, all terms are roundings: of both sums, of coordinates that sum to 1.
    constexpr double roundings = 0x1p-48;
    return {sum.value < 0 ? 0.0 : sum.value, std::isfinite(magnitude) ? loose * magnitude + roundings : 0.0};
}
inline Value jensenshannon_report(double rank, int, const Parameters&) {
    return {std::sqrt(rank < 0 ? 0 : rank / 2)};
}

// The sum of a[j] b[j] in order, each product fused into it. As instructions where the processor has them: std::fma is
// a call otherwise, and the loop below most of what the tests compute.
#if defined(__x86_64__) && !defined(__FMA__)
__attribute__((target("fma"))) inline double fused_by_instructions(const double* a, const double* b, int d) {
    double sum = 0;
    for (int j = 0; j < d; ++j) sum = __builtin_fma(a[j], b[j], sum);
    return sum;
}
#endif
inline double fused_product(const double* a, const double* b, int d) {
#if defined(__x86_64__) && !defined(__FMA__)
    static const bool has_instructions = __builtin_cpu_supports("fma");
    if (has_instructions) return fused_by_instructions(a, b, d);
#endif
    double sum = 0;
    for (int j = 0; j < d; ++j) sum = std::fma(a[j], b[j], sum);
    return sum;
}

inline Value mahalanobis(const Pair& v, const Parameters& params) {
    std::vector<double> t(v.q, v.q + v.d);
    for (int i = 0; i < v.d; ++i) t[i] -= v.x[i];
    return {canonical_sum(v.d, [&](int i) {
        return t[i] * fused_product(params.inverse_covariance.data() + std::size_t(i) * v.d, t.data(), v.d);
    })};
}

inline Value seuclidean(const Pair& v, const Parameters& params) {
    return {canonical_fold(v.d, [&](double a, int i) {
        const double deviation = std::sqrt(params.variances[i]);
        const double t = v.q[i] / deviation - v.x[i] / deviation;
        return std::fma(t, t, a);
    })};
}

// sin^2(dlat / 2) + cos(lat) cos(lat) sin^2(dlon / 2).
inline Value haversine(const Pair& v, const Parameters&) {
    const double lat = std::sin((v.q[0] - v.x[0]) / 2), lon = std::sin((v.q[1] - v.x[1]) / 2);
    const double h = lat * lat + std::cos(v.q[0]) * std::cos(v.x[0]) * lon * lon;
    const double size = lat * lat + lon * lon;  // 1e-318: what denormal terms may lose
    return {std::min(1.0, std::max(0.0, h)), size == 0 ? 0.0 : loose * size + 1e-318};
}
inline Value angle(double rank, int, const Parameters&) {
    if (std::isinf(rank)) return {rank};
    const double h = std::min(1.0, std::max(0.0, rank));
    const double angle = h > 0.5 ? std::acos(-1.0) - 2 * std::asin(std::sqrt(1 - h)) : 2 * std::asin(std::sqrt(h));
    return {angle, loose * angle};
}

// Calls count(l, r) for each coordinate, or each bit, of the two: is it set here and there?
template <class Count>
void each_member(const Pair& v, const Parameters& params, Count count) {
    for (int i = 0; i < v.d; ++i) {
        if (!params.packed_bits) count(v.q[i] != 0, v.x[i] != 0);
        for (int bit = 0; bit < 8 && params.packed_bits; ++bit) count(int(v.q[i]) >> bit & 1, int(v.x[i]) >> bit & 1);
    }
}

inline Value hamming(const Pair& v, const Parameters& params) {
    double differing = 0;
    if (params.packed_bits) each_member(v, params, [&](bool l, bool r) { differing += l != r; });
    for (int i = 0; i < v.d && !params.packed_bits; ++i) differing += v.q[i] == v.x[i] ? 0 : 1;
    return {differing};
}

inline Value jaccard(const Pair& v, const Parameters& params) {
    double one = 0, either = 0;
    each_member(v, params, [&](bool l, bool r) {
        one += l != r;
        either += l || r;
    });
    return {either == 0 ? 0.0 : one / either};
}
inline Value dice(const Pair& v, const Parameters& params) {
    double one = 0, sizes = 0;
    each_member(v, params, [&](bool l, bool r) {
        one += l != r;
        sizes += int(l) + int(r);
    });
    return {sizes == 0 ? 0.0 : one / sizes};
}
inline Value share(double rank, int d, const Parameters& params) {
    return {rank / (params.packed_bits ? 8.0 * d : d)};
}

inline Value canberra(const Pair& v, const Parameters&) {
    return {canonical_sum(v.d, [&](int i) {
        const double scale = std::fabs(v.q[i]) + std::fabs(v.x[i]);
        return scale == 0 ? 0.0 : std::fabs(v.q[i] - v.x[i]) / scale;
    })};
}

inline Value braycurtis(const Pair& v, const Parameters&) {
    const double above = canonical_sum(v.d, [&](int i) { return std::fabs(v.q[i] - v.x[i]); });
    const double below = canonical_sum(v.d, [&](int i) { return std::fabs(v.q[i] + v.x[i]); });
    return {above == 0 && below == 0 ? 0.0 : above / below};
}

// A metric that include/kith/metrics.def names needs its definition here.
inline const Definition& definition(const std::string& metric) {
    static const std::map<std::string, Definition> all = {
        {"sqeuclidean", {sqeuclidean, as_it_is}},
        {"euclidean", {sqeuclidean, root}},
        {"cityblock", {cityblock, as_it_is}},
        {"chebyshev", {chebyshev, as_it_is}},
        {"minkowski", {minkowski, minkowski_report}},
        {"cosine", {cosine, as_it_is}},
        {"inner_product", {.rank = inner_product, .report = negative, .similarity = true}},
        {"hellinger", {.rank = hellinger, .report = hellinger_report, .non_negative = true}},
        {"kl_divergence", {.rank = kl_divergence, .report = as_it_is, .non_negative = true}},
        {"jensenshannon", {.rank = jensenshannon, .report = jensenshannon_report, .non_negative = true}},
        {"mahalanobis", {mahalanobis, root}},
        {"hamming", {.rank = hamming, .report = share, .packed_bits = true}},
        {"canberra", {canberra, as_it_is}},
        {"braycurtis", {braycurtis, as_it_is}},
        {"correlation", {correlation, as_it_is}},
        {"haversine",
         {.rank = haversine,
          .report = angle,  // A latitude from pole to pole, a longitude of a turn either way.
          .dimensions = 2,
          .largest = {1.57, 6.28}}},
        {"jaccard", {.rank = jaccard, .report = as_it_is, .packed_bits = true}},
        {"seuclidean", {seuclidean, root}},
        {"dice", {.rank = dice, .report = as_it_is, .packed_bits = true}},
    };
    const auto found = all.find(metric);
    if (found == all.end()) {
        throw std::runtime_error("metric '" + metric +
                                 "' has no definition: add it to definition() in tests/support/oracle.h");
    }
    return found->second;
}

// ---------------------------------------------------------------- neighbours

// The rank of a pair as the order sees it: no value (inf - inf) counts as +inf, -0 as 0.
inline Value ordered_rank(const Definition& metric, const Parameters& params, const Pair& pair) {
    Value rank = metric.rank(pair, params);
    if (std::isnan(rank.value)) return {infinity};
    if (rank.value == 0) rank.value = 0.0;
    return rank;
}

struct Answer {
    std::int64_t queries = 0;
    std::int64_t k = 0;
    std::vector<std::int64_t> ids;  // queries x k; missing: -1
    std::vector<Value> ranks;       // missing: +inf
};

inline bool has_nan(const double* v, std::int64_t d) {
    return std::any_of(v, v + d, [](double value) { return std::isnan(value); });
}

// `graph`: query i is point i and never its own neighbour.
inline Answer search(const Definition& metric, const Parameters& params, const Matrix& points, const Matrix& queries,
                     std::int64_t k, bool graph = false) {
    const int d = static_cast<int>(points.cols);
    const auto cells = static_cast<std::size_t>(queries.rows * k);
    Answer out{queries.rows, k, std::vector<std::int64_t>(cells), std::vector<Value>(cells)};
    std::vector<bool> skip;
    for (std::int64_t i = 0; i < points.rows; ++i) skip.push_back(has_nan(points.row(i), d));
    struct Found {
        Value rank;
        std::int64_t id;
    };
    const auto answer = [&](std::int64_t row) {
        std::vector<Found> found;
        const bool no_query = has_nan(queries.row(row), d);
        for (std::int64_t id = 0; id < points.rows && !no_query; ++id) {
            if (skip[static_cast<std::size_t>(id)] || (graph && id == row)) continue;
            found.push_back({ordered_rank(metric, params, {queries.row(row), points.row(id), d}), id});
        }
        const auto nearer = [](const Found& a, const Found& b) {
            return a.rank.value != b.rank.value ? a.rank.value < b.rank.value : a.id < b.id;
        };
        const auto kept = std::min<std::int64_t>(k, static_cast<std::int64_t>(found.size()));
        std::partial_sort(found.begin(), found.begin() + kept, found.end(), nearer);
        found.resize(static_cast<std::size_t>(kept));
        found.resize(static_cast<std::size_t>(k), {{infinity}, -1});
        for (std::int64_t i = 0; i < k; ++i) {
            const auto cell = static_cast<std::size_t>(row * k + i);
            out.ids[cell] = found[static_cast<std::size_t>(i)].id;
            out.ranks[cell] = found[static_cast<std::size_t>(i)].rank;
        }
    };
    std::atomic<std::int64_t> next{0};
    const auto work = [&] {
        for (std::int64_t row; (row = next++) < queries.rows;) answer(row);
    };
    // Where that takes milliseconds, a few threads share it, if they can be had.
    std::vector<std::jthread> others;
    const bool alone = metric.of_one_thread || points.rows * queries.rows * d < 200'000;
    const unsigned threads = alone ? 1 : std::min(4u, std::thread::hardware_concurrency());
    try {
        for (unsigned i = 1; i < threads; ++i) others.emplace_back(work);
    } catch (const std::system_error&) {
    }
    work();
    others.clear();
    return out;
}

}  // namespace oracle
