// The terms of the fused filter's bound, from what was measured of a vector. Plain host code too:
// tests/unit attacks the arithmetic without a device. docs/exactness.md derives the bound; in
// short, with v the exact vector, v^ the rounded one, rho = |v - v^| measured, h = |v|^2 / 2 - F
// (l2; half_norm in the code) or -F, and a = h - <u^, v^> as the matrix units compute it,
//     a - E <= w <= a + E + 2 F,   w = |v|^2 / 2 - <u, v> (l2), -<u, v>, or -t <c, v> - <u, v>
//     (both less a centre c),
// so a point may be dropped when a > T with T at least the k-th smallest a + 2 (E + F). E
// (query_error) + F (point_error) is at least the sum of
//     |u| rho_v + rho_u |v| + rho_u rho_v     rounding of the coordinates
//     |u2| |v2|                               the product of the second terms, which is left out
//     gamma (|h| + size_u size_v)             accumulation, and rounding h
//     canonical_slack (|u|^2 + |v|^2)         binary64, here and in the distance key
//     canonical_slack |c| ...                 the same of products with a centre
//     factor_bound of both                    the same where a factor multiplies
//     canonical_slack weight_u                binary64's logarithms of a cross entropy
// where the products of a query's and a point's part are split by kappa or into halves (l2), or |u|
// is known (others).
#pragma once

#include <cmath>

#include "gpu/metric/filter_form.h"

namespace kith::gpu {

// Slack for the roundings of the bound itself and what rounding adds to unit queries (relative), of
// binary64 norms and of the canonical form (relative), and for underflow.
inline constexpr double bound_slack = 1.002, canonical_slack = 0x1p-40, underflow_slack = 1e-30;
// fp16's smallest normal number. The matrix units align products of smaller ones as if they were of
// that size.
inline constexpr double smallest_normal = 0x1p-14;
inline constexpr double smallest_square = 1e-280, largest_square = 1e280;
// The most that rounding to one term of fp16 takes from a vector, relatively.
inline constexpr double half_residual = 0x1p-11;

// ---- cross entropies
//
// Where x is 0 and q is not, the key is +inf. The logarithm of 0 is -entropy_norm, and a query's
// coordinate that is not 0 is rounded to at least `least`: their product alone is four times
// FilterForm::ceiling, from which on upper values are infinite. That is four to eight times a
// typical value.

// The norm of queries. Aligned with a coordinate of 0 (smallest_normal), it is no more than
// RowVector::size has paid.
inline constexpr double entropy_norm = 0x1p15;
// Points have a typical norm of 2^entropy_exponent: the smaller it is the smaller is `least`, and
// the fewer of fp16's bits are left, of which two terms need more.
constexpr int entropy_exponent(int terms) {
    return terms == 1 ? -6 : -5;
}

inline void use_entropies(FilterForm& form) {
    form.gemm = metric::Gemm::dot;
    form.query_scale = entropy_norm;
    form.least = std::ldexp(entropy_norm, entropy_exponent(form.terms) - 11);
    form.covered = form.least * entropy_norm / 2;
    form.ceiling = static_cast<float>(form.least * entropy_norm / 4);
}

// Coordinates other than 0 whose logarithms and quotients binary64 holds well.
KITH_HD bool has_logarithm(double x) {
    return x >= 0x1p-500 && x <= 0x1p500;
}
inline constexpr double largest_logarithm = 347;  // of these

// A coordinate of a cross entropy's vector.
struct EntropyCoordinate {
    double exact = 0, rounded = 0;  // what it is, and the number that is rounded in its place
    double weight = 0;              // of a query: what binary64's logarithms cost in proportion to
    bool zero = false;  // of a point: the logarithm of 0, which counts for nothing but in products
    bool covered = true;
};
KITH_HD EntropyCoordinate entropy_point(double x, double centre, double scale) {
    EntropyCoordinate out;
    out.zero = x == 0;
    out.covered = out.zero || has_logarithm(x);
    if (!out.zero) out.exact = out.rounded = (portable::log(x) - centre) * scale;
    return out;
}
KITH_HD EntropyCoordinate entropy_query(double q, double centre, double scale, double least) {
    EntropyCoordinate out;
    if (q == 0) return out;
    out.covered = has_logarithm(q);
    out.exact = q * scale;
    out.rounded = out.exact < least ? least : out.exact;
    out.weight = out.exact * (1 + std::abs(portable::log(q)) + std::abs(centre));
    return out;
}

// ---- terms

// What queries of one norm may lose by rounding, relatively; those that lose more are scanned.
KITH_HD double query_residual(const FilterForm& form) {
    if (form.terms == 1) return half_residual;
    return form.least > 0 ? 0x1p-15 : 0x1p-20;
}

// Norms of one row's vector: itself, what rounding left, the second term, what the factor
// multiplied.
struct RowVector {
    double norm2 = 0, rho2 = 0, second2 = 0, before2 = 0;
    double weight = 0;   // of a query of a cross entropy: sum u (1 + |log q| + |centre|)
    double offset = 0;   // of the half norm, beside |v|^2 / 2 of l2
    bool finite = true;  // false: the vector cannot serve, `out` holds zeros
    bool zero = false;   // nothing that could be made unit
    bool empty = false;  // nor any coordinate but 0
    bool zeros = false;  // a point of a cross entropy with coordinates that are 0

    // At least the norms of the rounded terms together. Two vectors' sizes multiplied are at least
    // the sum of the products of their coordinates, and at least what any of these is aligned as.
    KITH_HD double size() const {
        return std::sqrt(norm2) + std::sqrt(rho2) + 2 * std::sqrt(second2) + smallest_normal;
    }
};

// What a factor adds to E or F: its own residual and the canonical form's rounding, and what the
// roundings of the coordinates move; factor_split balances their products with the length of the
// vectors.
inline constexpr double factor_split = 0x1p-20;
KITH_HD double factor_bound(const FilterForm& form, const RowVector& v) {
    const double error = form.factor.coordinate_error,
                 before2 = form.scale * form.scale * v.before2;
    return factor_split * v.norm2 +
           ((1 + 1 / factor_split) * error * error + form.factor.rank_error) * before2;
}

// E and F of the l2 form: the same of a vector, as the sum of a pair may have started from either's
// h (column_thresholds).
KITH_HD double l2_bound(const FilterForm& form, const RowVector& v, bool factored) {
    const double size = v.size();
    double bound = 0.5 * (v.rho2 / form.kappa + form.kappa * v.norm2 + v.rho2 + v.second2) +
                   0.5 * form.gamma * (size * size + v.norm2) + canonical_slack * v.norm2;
    if (factored) bound += factor_bound(form, v);
    if (form.unit) bound += canonical_slack * form.scale * form.scale;
    return bound;
}

// H.
KITH_HD double exact_half_norm(const FilterForm& form, const RowVector& v) {
    return form.gemm == metric::Gemm::l2 && !form.shifts_products() ? 0.5 * v.norm2 + v.offset
                                                                    : v.offset;
}

// What binary64 rounds of products with a centre: of a point's form, the query's norm, the key, and
// <q, c>.
KITH_HD double product_bound(const FilterForm& form, double norm) {
    const double centre = form.scale * form.centre_norm, query = form.scale * form.product_norm;
    return canonical_slack * (query * (2 * norm + 2 * centre) + centre * norm);
}

// With all slack. |h| is at most half the square, which has paid for it, or the bound, which pays
// for it here.
KITH_HD double widened(const FilterForm& form, double bound) {
    return (bound * bound_slack + underflow_slack) * (1 + 2 * form.gamma);
}

// F.
KITH_HD double point_bound(const FilterForm& form, const RowVector& v, bool factored) {
    const double norm = std::sqrt(v.norm2), rho = std::sqrt(v.rho2), s = form.query_scale;
    if (form.gemm == metric::Gemm::l2)
        return widened(form, l2_bound(form, v, factored) + form.gamma * std::abs(v.offset) +
                                 product_bound(form, norm));
    double bound = s * (rho + half_residual * std::sqrt(v.second2) + form.gamma * v.size() +
                        canonical_slack * norm);
    if (form.gemm == metric::Gemm::dot) bound += s * query_residual(form) * (norm + rho);
    return widened(form, bound);
}

// E.
KITH_HD double query_bound(const FilterForm& form, const RowVector& v, bool factored) {
    double bound = 0;
    if (form.gemm == metric::Gemm::l2) bound = l2_bound(form, v, factored);
    else if (form.gemm == metric::Gemm::cosine) bound = form.scale * std::sqrt(v.rho2);
    else if (form.least > 0) bound = canonical_slack * form.scale * v.weight;
    else bound = 2 * canonical_slack * form.query_scale * form.scale * form.centre_norm;
    return widened(form, bound);
}

// Whether a query of one norm rounds by more than the points pay for.
KITH_HD bool is_coarse(const FilterForm& form, const RowVector& v) {
    const double norm = std::sqrt(v.norm2);
    return std::sqrt(v.rho2) > 1.001 * query_residual(form) * norm ||
           std::sqrt(v.second2) > 1.001 * half_residual * norm;
}

// Whether a point's values with F stay so small that those of infinite keys reach the ceiling.
KITH_HD bool is_near(const FilterForm& form, const RowVector& v, double bound) {
    return bound + form.query_scale * v.size() <= form.covered;
}
KITH_HD bool is_covered(const FilterForm& form, const RowVector& v, double bound) {
    return !v.zeros || is_near(form, v, bound);
}
// Of points that all are near: what values of finite keys, less E, do not exceed.
inline float farthest_value(const FilterForm& form) {
    return static_cast<float>(1.02 * form.covered);
}

}  // namespace kith::gpu
