// Bounds the distance between an f32 filter value and the distance key (docs/proofs/products.md,
// lemmas 1 to 6), split into a term of the point and a term of the query.
//
// Matrix-product forms. v and u are the point and the query after map(). For l2 a common centre is
// subtracted from both, and both are scaled by a power of two. For dot the point is centred and
// scaled and the query is normalised. For cosine both are normalised. v^ and u^ are their roundings
// to f32 or bf16, with measured residuals |v - v^| and |u - u^|. Then rank = alpha + beta w with w
// = H - <u, v>. H = |v|^2 / 2 for l2 (more for a zero row among centred unit vectors) and 0
// otherwise. The filter computes a = h - <u^, v^> in f32, and
//   |a - (h - H) - w| <= |u| |v - v^| + |u - u^| |v^|        rounding of the coordinates
//                      + g (|h| + |u^| |v^|) + underflow      f32 accumulation
//                      + gamma (|u|^2 + |v|^2)                binary64 rounding (canonical form
//                      too)
// Products split by |u||v| <= (|u|^2 + |v|^2) / 2; unit queries need no split. The point's share F
// lowers h: w >= a - E and w <= a + slack + E, slack = H + F - h.
//
// f32: g = (d + 4) 2^-24 for any order of summation, fused or not. Each step loses at most 2^-149
// to underflow.
//
// bf16: VDPBF16PS adds a pair of products to its f32 sum by two fused steps that round to nearest
// (Intel's manual; Zen 5 does too). Products of bf16 are exact in f32. Hence a term passes at most
// d + 3 roundings in any order, fused or not. g takes each rounding to be 2^-23, twice its size,
// which leaves room for arithmetic that truncates. Operands and results below 2^-126 become zero:
// with two products and two sums per pair that loses at most (2 d + 3) 2^-126. TDPBF16PS adds
// chains of 16 products: fewer roundings (docs/proofs/products.md, lemma 3).
//
// int8 and int16 quantization (cpu/filter/tile/tile.h): <u^, v^> is an integer, exact, times two
// scales. Three roundings follow: the conversion to f32, the point's scale, and the query's scale
// fused with h. g = 8 x 2^-24, because |u^| may be twice |u|.
//
// Direct forms: the metric in f32, |a - rank| <= g' rank + absolute + d 2^-148. g' is (d + 4) 2^-24
// for each sum in the quotient that forms the value, plus the error of each term
// (exact/direct_form.h).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "cpu/filter/tile/tile.h"
#include "cpu/tuning.h"
#include "exact/rounding.h"
#include "metric/metric.h"

namespace kith::cpu {

using exact::round_down, exact::round_up;

// Representation of coordinates in the filter, and the values computed from them.
// f32, bf16    f32 or bf16 products (f32: the direct form of a metric without products).
// direct       the direct form in f32.
// projected    coarse: products of PCA projections (cpu/filter/projection.h).
// bytes        coarse: products of int8 quantized coordinates.
// Candidates of a coarse form are rescored from more precise rows, or by exact keys if the points
// are 8-bit integers (cpu/filter/whole_rows.h). The two *_fractions forms serve queries that are
// not integers.
enum class Rounding { f32, bf16, direct, projected, bytes, projected_fractions, bytes_fractions };
inline constexpr int rounding_count = 7;
inline bool is_coarse(Rounding rounding) {
    return rounding >= Rounding::projected;
}
inline bool is_bytes(Rounding rounding) {
    return rounding == Rounding::bytes || rounding == Rounding::bytes_fractions;
}
// For a coarse form: whether 8-bit integer points are kept unquantized, and the form that replaces
// it when queries are not integers.
inline bool keeps_whole(Rounding rounding) {
    return rounding == Rounding::projected || rounding == Rounding::bytes;
}
inline Rounding with_fractions(Rounding rounding) {
    return is_bytes(rounding) ? Rounding::bytes_fractions : Rounding::projected_fractions;
}

// The rounding of products of d coordinates.
inline Rounding product_rounding(Isa isa, std::int64_t d) {
    return d >= min_bf16_dimensions && pair_kernels(isa) ? Rounding::bf16 : Rounding::f32;
}

// Beyond this dimension g is no longer small.
inline constexpr std::int64_t max_filter_dimensions = 1 << 16;
// Scaled norms beyond max_scaled_norm bring f32 products near overflow. Squares of unscaled norms
// within [min_norm, max_norm] are well within binary64's range.
inline constexpr double max_scaled_norm = 0x1p30, max_norm = 1e140, min_norm = 1e-140;

struct PointTerms {
    float half_norm, slack;  // initial accumulator; upper value minus value
};

// Terms of a full-dimensional row that coarse panels rescore from; `scale` of int16 rows.
struct RowTerms {
    float half_norm, slack, scale;
};

// Terms of a point beyond those of its vector's sums (l2).
struct BesideSums {
    double error = 0, half_norm = 0;
};

// Terms of one query: they turn the k-th smallest upper value, or a distance key, into the filter's
// threshold.
struct QueryTerms {
    double error = 0;              // E
    double scale = 1, offset = 0;  // w = rank scale + offset
    double growth = 1;             // direct forms: (1 + g') / (1 - g')
    bool usable = true;            // false: the bound does not hold, use a full scan
    bool exact = false;  // values with zero half norm and slack are the distance keys themselves
    bool alike = false;  // all points are equally near: the first k of them are the answer
    bool ends_finite = false;  // a value of +inf means an infinite key

    // No point among the k nearest has a filter value above this, provided that k points have upper
    // values of at most `kth`.
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
    // `query_norm`: |u| of the forms other than l2, a power of two. `terms`: the number of terms of
    // the filter's sums, if other than the key's d.
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

    // The bound of quantized coordinates. `typical` is a finite |v - v^| / |v|. Points pay for a
    // unit query's residual of `margin` times that. Products and sums are exact; a value
    // accumulates at most four roundings.
    static FilterBound of_whole(metric::Gemm form, std::int64_t d, double typical, double margin) {
        // The norm |u^| is at most twice |u|.
        FilterBound bound(form, d, Rounding::f32, 1, 4);
        bound.rho_ = std::max(typical, 0x1p-25);
        bound.rho_unit_ = margin * bound.rho_;
        bound.underflow_ = 0x1p-100;
        return bound;
    }

    // The largest |v^| of all points. Set before any query(); it enters the query's terms.
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

    // The terms of a query. `more`: extra error beyond that of the sums. For l2 and cosine `norm`
    // is unused. For dot it is the query's norm over the scale of the points; ranks are -norm <u,
    // v>.
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

    // Relative rounding error of a sum of d terms in binary64, in proportion to their magnitudes,
    // here and in the canonical form.
    double binary64_error() const { return gamma_; }

private:
    metric::Gemm form_ = metric::Gemm::none;
    double query_norm_ = 1;
    // rho_ is the weight that splits |u| |v - v^|: about |v - v^| / |v|. A unit query's residual |u
    // - u^| seldom exceeds rho_unit_.
    double rho_ = 0, rho_unit_ = 0;
    double largest_ = 0;
    double g_ = 0, gamma_ = 0, underflow_ = 0;
};

}  // namespace kith::cpu
