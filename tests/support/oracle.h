// The oracle: nearest neighbours by definition, one plain loop in binary64 per metric (docs/contract.md, sections
// 1-3). It shares no code with src/: element types are decoded here, every formula is written out here.
#pragma once

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "kith/types.h"

namespace oracle {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

// The floating-point state that the definitions are in, while one lives; then the caller's again.
class FloatState {
public:
    FloatState() {
        std::fegetenv(&callers_);
        std::fesetenv(FE_DFL_ENV);
    }
    ~FloatState() { std::fesetenv(&callers_); }
    FloatState(const FloatState&) = delete;
    FloatState& operator=(const FloatState&) = delete;

private:
    std::fenv_t callers_{};
};

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
    const FloatState state;
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
    // -1, 1: the rank is below or above what says all, and the value is the distance instead (ordered_rank()).
    int band = 0;
};

// The order of ranks.
inline bool before(const Value& a, const Value& b) {
    // 0 and less, distances below all ranks, ranks, distances above them, infinity.
    const auto place = [](const Value& v) {
        if (v.band == 0) return v.value <= 0 ? 0 : std::isinf(v.value) ? 4 : 2;
        return v.band < 0 ? 1 : 3;
    };
    return place(a) != place(b) ? place(a) < place(b) : a.value < b.value;
}
inline bool same_band(const Value& a, const Value& b) {
    return a.band == b.band && std::isinf(a.value) == std::isinf(b.value);
}

struct Definition {
    // The order of neighbours, the smallest first.
    Value (*rank)(const Pair&, const Parameters&);
    // Rank to distance.
    Value (*report)(double rank, int d, const Parameters&);
    // Where ranks are powers of distances: the distance, as if numbers had any exponent.
    Value (*distance)(const Pair&, const Parameters&) = nullptr;
    bool similarity = false;
    // The demands on the coordinates: none below zero, this many in a row (0: any), none of a larger magnitude than
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
// All of them times a power of two that brings the largest near 1: and its exponent.
inline int bring_near_one(std::vector<double>& t) {
    double largest = 0;
    for (const double v : t) largest = std::max(largest, std::fabs(v));
    int exponent = 0;
    std::frexp(largest, &exponent);
    for (double& v : t) v = std::ldexp(v, -exponent);
    return exponent;
}
// The root of the sum of their squares.
inline double length(std::vector<double> t) {
    for (const double v : t)
        if (!std::isfinite(v)) return infinity;
    const int exponent = bring_near_one(t);
    const std::vector<double> zeros(t.size());
    return std::ldexp(std::sqrt(sqeuclidean({t.data(), zeros.data(), static_cast<int>(t.size())}, {}).value), exponent);
}
inline std::vector<double> differences(const Pair& v) {
    std::vector<double> t(v.q, v.q + v.d);
    for (int i = 0; i < v.d; ++i) t[i] -= v.x[i];
    return t;
}
inline Value euclidean_distance(const Pair& v, const Parameters&) {
    return {length(differences(v))};
}

// Differences over the largest of them.
inline Value minkowski_distance(const Pair& v, const Parameters& params) {
    std::vector<double> t = differences(v);
    double largest = 0;
    for (const double value : t) {
        if (!std::isfinite(value)) return {infinity};
        largest = std::max(largest, std::fabs(value));
    }
    if (largest == 0) return {0};
    const double sum = canonical_sum(v.d, [&](int i) { return std::pow(std::fabs(t[i]) / largest, params.p); });
    const double distance = largest * std::pow(sum, 1 / params.p);
    return {distance, std::isinf(distance) ? 0.0 : loose * distance + 0x1p-1000 * loose};
}

inline Value minkowski_report(double rank, int, const Parameters& params) {
    if (std::isinf(params.p) || params.p == 1) return {rank};
    if (params.p == 2) return {std::sqrt(rank)};
    const double distance = std::pow(rank < 0 ? 0.0 : rank, 1 / params.p);
    return {distance, std::isinf(distance) ? 0.0 : loose * distance};
}

// A row of a metric that asks for its direction only: far out, it is brought near 1.
inline std::vector<double> direction(const double* v, int d) {
    std::vector<double> out(v, v + d);
    double largest = 0;
    for (const double value : out) largest = std::max(largest, std::fabs(value));
    if (std::isfinite(largest) && (largest < 0x1p-200 || largest > 0x1p200)) bring_near_one(out);
    return out;
}

inline double product(const std::vector<double>& a, const std::vector<double>& b) {
    return canonical_fold(static_cast<int>(a.size()), [&](double sum, int i) { return std::fma(a[i], b[i], sum); });
}
inline Value cosine_of(const std::vector<double>& q, const std::vector<double>& x) {
    const double qq = product(q, q), xx = product(x, x);
    if (qq == 0 || xx == 0) return {1.0};
    const double distance = 1 - product(q, x) / std::sqrt(qq * xx);
    return {std::isnan(distance) ? distance : std::min(2.0, std::max(0.0, distance))};
}
inline Value cosine(const Pair& v, const Parameters&) {
    return cosine_of(direction(v.q, v.d), direction(v.x, v.d));
}

inline std::vector<double> centred(std::vector<double> v) {
    const int d = static_cast<int>(v.size());
    const double mean = canonical_sum(d, [&](int i) { return v[i]; }) / d;
    for (double& value : v) value -= mean;
    return v;
}
inline Value correlation(const Pair& v, const Parameters&) {
    return cosine_of(centred(direction(v.q, v.d)), centred(direction(v.x, v.d)));
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
inline Value hellinger_distance(const Pair& v, const Parameters&) {
    std::vector<double> t(v.d);
    for (int i = 0; i < v.d; ++i) t[i] = std::sqrt(v.q[i]) - std::sqrt(v.x[i]);
    for (const double value : t)
        if (!std::isfinite(value)) return {infinity};
    const int exponent = bring_near_one(t);
    const std::vector<double> zeros(t.size());
    const double sum = sqeuclidean({t.data(), zeros.data(), v.d}, {}).value;
    return {std::ldexp(std::sqrt(sum) / std::sqrt(2.0), exponent)};
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
    std::vector<double> out = direction(v, d);
    const double sum = canonical_sum(d, [&](int i) { return out[i]; });
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
    const std::vector<double> t = differences(v);
    const double form = canonical_sum(v.d, [&](int i) {
        return t[i] * fused_product(params.inverse_covariance.data() + std::size_t(i) * v.d, t.data(), v.d);
    });
    // A value rounded to below zero is none; -inf has overflowed.
    return {std::isinf(form) ? infinity : form < 0 ? 0.0 : form};
}
inline Value mahalanobis_distance(const Pair& v, const Parameters& params) {
    std::vector<double> t = differences(v);
    for (const double value : t)
        if (!std::isfinite(value)) return {infinity};
    int exponent = bring_near_one(t), of_matrix = 0;
    double largest = 0;
    for (const double value : params.inverse_covariance) largest = std::max(largest, std::fabs(value));
    std::frexp(largest, &of_matrix);
    of_matrix /= 2;
    for (double& value : t) value = std::ldexp(value, -of_matrix);
    const std::vector<double> zeros(t.size());
    const double form = mahalanobis({t.data(), zeros.data(), v.d}, params).value;
    return {std::ldexp(std::sqrt(form), exponent + of_matrix)};
}

inline Value seuclidean(const Pair& v, const Parameters& params) {
    return {canonical_fold(v.d, [&](double a, int i) {
        const double deviation = std::sqrt(params.variances[i]);
        const double t = v.q[i] / deviation - v.x[i] / deviation;
        return std::fma(t, t, a);
    })};
}

inline Value seuclidean_distance(const Pair& v, const Parameters& params) {
    std::vector<double> t(v.d);
    for (int i = 0; i < v.d; ++i) {
        const double deviation = std::sqrt(params.variances[i]);
        t[i] = v.q[i] / deviation - v.x[i] / deviation;
    }
    return {length(std::move(t))};
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
        {"euclidean", {sqeuclidean, root, euclidean_distance}},
        {"cityblock", {cityblock, as_it_is}},
        {"chebyshev", {chebyshev, as_it_is}},
        {"minkowski", {minkowski, minkowski_report, minkowski_distance}},
        {"cosine", {cosine, as_it_is}},
        {"inner_product", {.rank = inner_product, .report = negative, .similarity = true}},
        {"hellinger",
         {.rank = hellinger, .report = hellinger_report, .distance = hellinger_distance, .non_negative = true}},
        {"kl_divergence", {.rank = kl_divergence, .report = as_it_is, .non_negative = true}},
        {"jensenshannon", {.rank = jensenshannon, .report = jensenshannon_report, .non_negative = true}},
        {"mahalanobis", {mahalanobis, root, mahalanobis_distance}},
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
        {"seuclidean", {seuclidean, root, seuclidean_distance}},
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

// Rounded to 48 significant bits, but not to infinity.
inline double to_48_bits(double x) {
    int exponent = 0;
    const double rounded = std::floor(std::frexp(x, &exponent) * 0x1p48 + 0.5);
    const double value = std::ldexp(rounded, exponent - 48);
    return std::isinf(value) ? std::ldexp(0x1p48 - 1, 1024 - 48) : value;
}

// The rank of a pair as the order sees it: no value (inf - inf) counts as +inf, -0 as 0. Powers of distances, where
// they are not 0 for equal vectors, say all from 2^-960 to 2^990; of other pairs the distances do, with 48 bits.
inline Value ordered_rank(const Definition& metric, const Parameters& params, const Pair& pair) {
    const FloatState state;
    Value rank = metric.rank(pair, params);
    if (std::isnan(rank.value)) rank = {infinity};
    if (rank.value == 0) rank.value = 0.0;
    const bool power = metric.distance && params.p != 1 && !std::isinf(params.p);
    if (!power || (rank.value >= 0x1p-960 && rank.value < 0x1p990)) return rank;
    const Value distance = metric.distance(pair, params);
    if (distance.value == 0 || std::isinf(distance.value)) return {distance.value};
    return {to_48_bits(distance.value), distance.slack, rank.value < 1 ? -1 : 1};
}

// The least and the largest distance that may be reported of a rank.
inline std::pair<double, double> reported(const Definition& metric, const Value& rank, int d,
                                          const Parameters& params) {
    if (rank.band != 0) return {rank.value - rank.slack, rank.value + rank.slack};
    const Value low = metric.report(rank.value - rank.slack, d, params);
    const Value high = metric.report(rank.value + rank.slack, d, params);
    return {low.value - low.slack, high.value + high.slack};
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
    const FloatState state;
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
            return before(a.rank, b.rank) || (!before(b.rank, a.rank) && a.id < b.id);
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
        const FloatState own;
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
