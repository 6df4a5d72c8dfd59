// How far an f32 filter value can be from the distance key (docs/exactness.md, sections 5 and 6),
// split into a term of the point and a term of the query.
//
// Matrix-product forms. v and u are point and query after map(), less a common centre and scaled by
// a power of two (l2), the point less a centre and scaled (dot: the query normalised), or both
// normalised (cosine); v^, u^ their roundings to f32 or bf16 with measured residuals |v - v^|, |u -
// u^|. Then rank = alpha + beta w with w = H - <u, v>, H = |v|^2 / 2 for l2 (and more of a row of 0
// among centred unit vectors) and 0 otherwise. The filter computes a = h - <u^, v^> in f32, and
//   |a - (h - H) - w| <= |u| |v - v^| + |u - u^| |v^|        rounding of the coordinates
//                      + g (|h| + |u^| |v^|) + underflow      f32 accumulation
//                      + gamma (|u|^2 + |v|^2)                binary64's rounding, here and in the
//                      canonical form
// Products split by |u||v| <= (|u|^2 + |v|^2) / 2; for unit queries they need none. The point's
// share F lowers h: w >= a - E and w <= a + slack + E, slack = H + F - h.
//
// f32: g = (d + 4) 2^-24 for any order of summation, fused or not; each step loses at most 2^-149
// to underflow. bf16: VDPBF16PS adds a pair of products to its f32 sum by two fused steps that
// round to nearest (Intel's manual; so does Zen 5). Products of bf16 are exact in f32, so in any
// order, fused or not, a term passes at most d + 3 roundings. g takes each as 2^-23, twice its
// size, which leaves room for arithmetic that truncates. Operands and results below 2^-126 become
// zero: with two products and two sums per pair that loses at most (2 d + 3) 2^-126. TDPBF16PS adds
// chains of 16 products: fewer roundings (docs/exactness.md, section 6).
//
// Whole numbers of 8 and of 16 bits (cpu/filter/tile.h): <u^, v^> is a whole number, exact, times
// two scales; to f32, the point's scale, and the query's fused with h are three roundings. g = 8 x
// 2^-24, as |u^| may be twice |u|.
//
// Direct forms: the metric in f32, |a - rank| <= g' rank + absolute + d 2^-148, where g' = (d + 4)
// 2^-24 for each sum that the value is a quotient of, and what a term's own error adds
// (exact/direct_form.h).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "cpu/filter/tile.h"
#include "cpu/filter/tuning.h"
#include "exact/rounding.h"
#include "metric/metric.h"

namespace kith::cpu {

using exact::round_down, exact::round_up;

// What the coordinates are rounded to, and what is made of them: products of f32 or of bf16 (f32:
// the direct form of a metric without products), the direct form, in f32; or coarse products, along
// a few directions (cpu/filter/projection.h) or of whole numbers of 8 bits, and finer ones of the
// candidates that these leave, or their keys where the points are such numbers themselves
// (cpu/filter/whole_rows.h). The two with fractions: the same for queries that are none.
enum class Rounding { f32, bf16, direct, projected, bytes, projected_fractions, bytes_fractions };
inline constexpr int rounding_count = 7;
inline bool is_coarse(Rounding rounding) {
    return rounding >= Rounding::projected;
}
inline bool is_bytes(Rounding rounding) {
    return rounding == Rounding::bytes || rounding == Rounding::bytes_fractions;
}
// Of a coarse one. Whether whole numbers are kept as they are, and what takes its place where
// queries are others.
inline bool keeps_whole(Rounding rounding) {
    return rounding == Rounding::projected || rounding == Rounding::bytes;
}
inline Rounding with_fractions(Rounding rounding) {
    return is_bytes(rounding) ? Rounding::bytes_fractions : Rounding::projected_fractions;
}

// What products of so many coordinates are rounded to.
inline Rounding product_rounding(Isa isa, std::int64_t d) {
    return d >= min_bf16_dimensions && pair_kernels(isa) ? Rounding::bf16 : Rounding::f32;
}

// Dimensions beyond which g is no small number any more.
inline constexpr std::int64_t max_filter_dimensions = 1 << 16;
// Scaled norms beyond which f32 products come near overflow; unscaled norms whose squares binary64
// holds well.
inline constexpr double max_scaled_norm = 0x1p30, max_norm = 1e140, min_norm = 1e-140;

struct PointTerms {
    float half_norm, slack;  // what the accumulator is initialised to; upper value less value
};

// Of a row behind coarse panels; the scale of one of 16 bits.
struct RowTerms {
    float half_norm, slack, scale;
};

// What a point has beside that of the sums of its vector (l2).
struct BesideSums {
    double error = 0, half_norm = 0;
};

// For one query: the filter's threshold from the k-th smallest upper value, and from a distance
// key.
struct QueryTerms {
    double error = 0;              // E
    double scale = 1, offset = 0;  // w = rank scale + offset
    double growth = 1;             // direct forms: (1 + g') / (1 - g')
    bool usable = true;            // false: the bound does not hold, scan instead
    bool exact = false;  // values are the distance keys themselves, where half norm and slack are 0
    bool alike = false;  // all points are equally near: the first of them are the answer
    bool ends_finite = false;  // values of +inf are those of infinite keys

    // No point of the k nearest has a filter value above this, if k of them have upper values up to
    // `kth`.
    float threshold_from_upper(double kth) const {
        return round_up((kth + std::abs(kth) * 0x1p-22) * growth + 2 * error);
    }
    float threshold_from_rank(double rank) const {
        const double w = rank * scale, size = std::abs(w) + std::abs(offset);
        return round_up((w + offset + size * 0x1p-48) * growth + error);
    }
};

inline QueryTerms direct_terms(const exact::DirectBound& bound) {
    QueryTerms t;
    t.error = bound.lost;
    t.growth = bound.growth;
    return t;
}

class FilterBound {
public:
    FilterBound() = default;
    // `query_norm`: |u| of the forms other than l2, a power of two. `terms`: those of the filter's
    // sums, where they are not the d of the distance key's.
    FilterBound(metric::Gemm form, std::int64_t d, Rounding rounding, double query_norm,
                std::int64_t terms)
        : form_(form),
          query_norm_(query_norm),
          rho_(rounding == Rounding::bf16 ? 0x1.8p-10 : 0x1p-25),
          rho_unit_(rounding == Rounding::bf16 ? 0x1.ep-10 : 0x1.001p-24) {
        const bool bf16 = rounding == Rounding::bf16;
        const double n = static_cast<double>(terms), unit = bf16 ? 0x1p-23 : 0x1p-24;
        // Every factor is widened by far more than binary64 loses in evaluating the bound itself.
        g_ = (n + 4) * unit * (1 + 2 * n * unit);
        gamma_ = (2 * static_cast<double>(d) + 40) * 0x1p-52;
        underflow_ = bf16 ? (n + 2) * 0x1p-124 : n * 0x1p-147;
    }
    FilterBound(metric::Gemm form, std::int64_t d, Rounding rounding = Rounding::f32,
                double query_norm = 1)
        : FilterBound(form, d, rounding, query_norm, d) {}

    // Of whole numbers: `typical` is |v - v^| / |v|, finite, and `margin` times as much what points
    // pay for of a unit query. Their products and sums are exact; a value is four roundings from
    // one at most.
    static FilterBound of_whole(metric::Gemm form, std::int64_t d, double typical, double margin) {
        // |u^| is at most twice |u|.
        FilterBound bound(form, d, Rounding::f32, 1, 4);
        bound.rho_ = std::max(typical, 0x1p-25);
        bound.rho_unit_ = margin * bound.rho_;
        bound.underflow_ = 0x1p-100;
        return bound;
    }

    // The largest |v^| of all points, before the terms of a query are asked for.
    void set_largest(double norm) { largest_ = norm * (1 + 0x1p-30); }

    PointTerms point(const RowSums& s, const BesideSums& beside = {}) const {
        const double norm = std::sqrt(s.norm2), rounded = std::sqrt(s.rounded2);
        const double residual = std::sqrt(s.residual2) * (1 + 0x1p-30) + norm * 0x1p-50;
        double half = 0, f;
        if (form_ == metric::Gemm::l2) {
            half = s.norm2 / 2 + beside.half_norm;
            f = residual * residual / (2 * rho_) + (rho_ + g_) / 2 * s.rounded2 + 2 * g_ * half +
                gamma_ * s.norm2;
            f += beside.error;
        } else {
            f = query_norm_ * (residual + (rho_unit_ + g_) * rounded + gamma_ * norm);
        }
        f = f * (1 + 2 * g_ + 0x1p-30) + underflow_;
        const float h = round_down(half - f);
        return {h, round_up((half + f) - static_cast<double>(h))};
    }

    // `more`: of the error beside that of the sums. Of the l2 and the cosine form (`norm` unused),
    // or the dot form with `norm` the query's norm over the scale of the points, whose ranks are
    // -norm <u, v>.
    QueryTerms query(const RowSums& s, double scale, double norm, double more = 0) const {
        QueryTerms t;
        const double size = std::sqrt(s.norm2);
        const double residual = std::sqrt(s.residual2) * (1 + 0x1p-30) + size * 0x1p-50;
        if (form_ == metric::Gemm::l2) {
            t.error = residual * residual / (2 * rho_) + (rho_ + g_) / 2 * s.rounded2 +
                      (rho_ / 2 + gamma_) * s.norm2;
            t.error += more;
            t.scale = scale * scale / 2;
            t.offset = -s.norm2 / 2;
        } else {
            // The points have paid for a residual of rho_unit_.
            t.error = std::max(0.0, residual - query_norm_ * rho_unit_) * largest_;
            if (form_ == metric::Gemm::cosine) t.offset = -1;
            else t.scale = norm == 0 ? 0 : query_norm_ / norm;
        }
        t.error = t.error * (1 + 0x1p-30) + underflow_;
        return t;
    }

    // What binary64 rounds of a sum of d terms, in proportion to their magnitudes, here and in the
    // canonical form.
    double binary64_error() const { return gamma_; }

private:
    metric::Gemm form_ = metric::Gemm::none;
    double query_norm_ = 1;
    // The weight that splits |u| |v - v^|: about |v - v^| / |v|. And for |u| = 1 what |u - u^|
    // hardly exceeds.
    double rho_ = 0, rho_unit_ = 0;
    double largest_ = 0;
    double g_ = 0, gamma_ = 0, underflow_ = 0;
};

}  // namespace kith::cpu
