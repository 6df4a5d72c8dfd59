// The terms of the fused filter's error bound, computed from the measured norms of a vector. Plain
// host code too: tests/unit attacks the arithmetic without a device. docs/proofs/products-gpu.md
// derives the bound. In short: v is the exact vector, v^ the rounded one, and rho = |v - v^| is
// measured. The half norm (half_norm) is h = |v|^2 / 2 - F for l2, or -F. The matrix units compute
// a = h - <u^, v^>. Then
//
//     a - E <= w <= a + E + 2 F,
//     w = |v|^2 / 2 - <u, v> (l2), -<u, v>, or -t <c, v> - <u, v> (both less a centre c).
//
// A point may be dropped when a > T, with T at least the k-th smallest a + 2 (E + F). The sum of
// E (query_error) and F (point_error) is at least the sum of
//
//     |u| rho_v + rho_u |v| + rho_u rho_v     rounding of the coordinates
//     |u2| |v2|                               the product of the second terms, which is left out
//     gamma (|h| + size_u size_v)             accumulation, and rounding h
//     canonical_slack (|u|^2 + |v|^2)         binary64, here and in the distance key
//     canonical_slack |c| ...                 likewise, for products with a centre
//     factor_bound of both                    likewise, if a factor multiplies
//     canonical_slack weight_u                binary64's logarithms in a cross entropy
//
// For l2, kappa or a split into halves separates each product into a query's and a point's part.
// The other forms know |u|.
#pragma once

#include <cmath>

#include "gpu/metric/filter_form.h"

namespace kith::gpu {

// Slack for the rounding of the bound itself and for what rounding adds to unit queries (relative);
// for binary64 norms and the canonical form (relative); for underflow.
inline constexpr double bound_slack = 1.002, canonical_slack = 0x1p-40, underflow_slack = 1e-30;
// The smallest normal number of fp16. The matrix units align products of smaller numbers as if
// these had that size.
inline constexpr double smallest_normal = 0x1p-14;
inline constexpr double smallest_square = 1e-280, largest_square = 1e280;
// Largest relative loss of a vector that is rounded to one fp16 term.
inline constexpr double half_residual = 0x1p-11;

// ---- cross entropies
//
// If x is 0 and q is not, the key is +inf. The filter stores -entropy_norm for the logarithm of 0,
// and rounds each non-zero coordinate of a query to at least `least`. The product of these two
// alone is four times FilterForm::ceiling, from which on upper values count as infinite. The
// ceiling is four to eight times a typical value.

// The norm of queries. Its alignment with a coordinate of 0 (smallest_normal) costs no more than
// RowVector::size already pays for.
inline constexpr double entropy_norm = 0x1p15;
// Points have a typical norm of 2^entropy_exponent. A smaller norm makes `least` smaller and leaves
// fewer of fp16's bits; two terms need more of these bits.
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

// Non-zero coordinates whose logarithms and quotients binary64 holds well.
KITH_HD bool has_logarithm(double x) {
    return x >= 0x1p-500 && x <= 0x1p500;
}
inline constexpr double largest_logarithm = 347;  // largest |log x| of such coordinates

// One coordinate of a vector of a cross entropy.
struct EntropyCoordinate {
    double exact = 0, rounded = 0;  // the exact value, and the number that is rounded instead
    double weight = 0;              // of a query: the scale of binary64's error in the logarithms
    bool zero = false;              // of a point: logarithm of 0, counted in products only
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

// Largest relative rounding loss of queries of one norm. Queries that lose more are scanned.
KITH_HD double query_residual(const FilterForm& form) {
    if (form.terms == 1) return half_residual;
    return form.least > 0 ? 0x1p-15 : 0x1p-20;
}

// Norms of one row's vector: the vector, its rounding residual, its second term, and the vector
// before the factor.
struct RowVector {
    double norm2 = 0, rho2 = 0, second2 = 0, before2 = 0;
    double weight = 0;   // of a query of a cross entropy: sum u (1 + |log q| + |centre|)
    double offset = 0;   // of the half norm, in addition to |v|^2 / 2 of l2
    bool finite = true;  // false: the filter cannot use the vector, `out` holds zeros
    bool zero = false;   // the norm is 0: the vector cannot be made unit
    bool empty = false;  // every coordinate is 0 as well
    bool zeros = false;  // a point of a cross entropy that has coordinates of 0

    // An upper bound of the norm of all rounded terms together. The product of the sizes of two
    // vectors bounds the sum of their coordinate products, and the size at which the matrix units
    // align any of these products.
    KITH_HD double size() const {
        return std::sqrt(norm2) + std::sqrt(rho2) + 2 * std::sqrt(second2) + smallest_normal;
    }
};

// A factor's contribution to E or F: its own residual, the rounding of the canonical form, and the
// effect of coordinate rounding. The constant factor_split balances the products of these with the
// vectors' length.
inline constexpr double factor_split = 0x1p-20;
KITH_HD double factor_bound(const FilterForm& form, const RowVector& v) {
    const double error = form.factor.coordinate_error,
                 before2 = form.scale * form.scale * v.before2;
    return factor_split * v.norm2 +
           ((1 + 1 / factor_split) * error * error + form.factor.rank_error) * before2;
}

// The common form of E and F for l2. It is symmetric: the sum of a pair may have started from the h
// of either vector (column_thresholds).
KITH_HD double l2_bound(const FilterForm& form, const RowVector& v, bool factored) {
    const double size = v.size();
    double bound = 0.5 * (v.rho2 / form.kappa + form.kappa * v.norm2 + v.rho2 + v.second2) +
                   0.5 * form.gamma * (size * size + v.norm2) + canonical_slack * v.norm2;
    if (factored) bound += factor_bound(form, v);
    if (form.unit) bound += canonical_slack * form.scale * form.scale;
    return bound;
}

// H, the half norm before F is subtracted.
KITH_HD double exact_half_norm(const FilterForm& form, const RowVector& v) {
    return form.gemm == metric::Gemm::l2 && !form.shifts_products() ? 0.5 * v.norm2 + v.offset
                                                                    : v.offset;
}

// Binary64 rounding of products with a centre: in a point's form, in the query's norm, in the key,
// and in <q, c>.
KITH_HD double product_bound(const FilterForm& form, double norm) {
    const double centre = form.scale * form.centre_norm, query = form.scale * form.product_norm;
    return canonical_slack * (query * (2 * norm + 2 * centre) + centre * norm);
}

// Adds all slack. |h| is at most half the square, which has paid for it, or at most the bound,
// which pays for it here.
KITH_HD double widened(const FilterForm& form, double bound) {
    return (bound * bound_slack + underflow_slack) * (1 + 2 * form.gamma);
}

// F, a point's share of the bound.
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

// E, a query's share of the bound.
KITH_HD double query_bound(const FilterForm& form, const RowVector& v, bool factored) {
    double bound = 0;
    if (form.gemm == metric::Gemm::l2) bound = l2_bound(form, v, factored);
    else if (form.gemm == metric::Gemm::cosine) bound = form.scale * std::sqrt(v.rho2);
    else if (form.least > 0) bound = canonical_slack * form.scale * v.weight;
    else bound = 2 * canonical_slack * form.query_scale * form.scale * form.centre_norm;
    return widened(form, bound);
}

// True if a query of one norm rounds by more than the points pay for.
KITH_HD bool is_coarse(const FilterForm& form, const RowVector& v) {
    const double norm = std::sqrt(v.norm2);
    return std::sqrt(v.rho2) > 1.001 * query_residual(form) * norm ||
           std::sqrt(v.second2) > 1.001 * half_residual * norm;
}

// True if a point's values with F are so small that the values of its infinite keys reach the
// ceiling.
KITH_HD bool is_near(const FilterForm& form, const RowVector& v, double bound) {
    return bound + form.query_scale * v.size() <= form.covered;
}
KITH_HD bool is_covered(const FilterForm& form, const RowVector& v, double bound) {
    return !v.zeros || is_near(form, v, bound);
}
// If all points are near: upper limit of the values of finite keys, less E.
inline float farthest_value(const FilterForm& form) {
    return static_cast<float>(1.02 * form.covered);
}

}  // namespace kith::gpu
