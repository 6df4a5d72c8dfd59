// The direct forms of the filter: which step evaluates a metric in f32, on which coordinates, and
// how far it may be from the distance key (docs/proofs/direct.md, lemma 1). Both backends take the
// same steps, each with its own instructions; the errors bound both.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "kith/types.h"
#include "metric/metric.h"
#include "metric/portable.h"

namespace kith::exact {

// The function of a word of the query (q) and of the point (x) that is added to a pair's
// accumulators. The half norm is added to their result. Words are f32 coordinates, unless four
// bytes are mentioned.
enum class Step {
    dot,               // q x; no direct form
    cityblock,         // |q - x|
    chebyshev,         // the maximum of the accumulator and |q - x|
    squares,           // |q - x|^2
    cubes,             // |q - x|^3
    fourths,           // |q - x|^4
    powers,            // |q - x|^p, p the tile's exponent argument
    quotients,         // |q - x| / (|q| + |x|)
    quotient,          // |q - x| and |q + x|; the value is the quotient of the two sums
    mismatches,        // 1 where q and x differ
    mismatched_bytes,  // the number of the four bytes that differ
    mismatched_bits,   // the number of bits of the four bytes that differ
    divergence,        // q^2 log(q^2 / m) + x^2 log(x^2 / m) with m = (q^2 + x^2) / 2
    jaccard_sets,      // |q - x| and |q + x|, words 0 or 1; value: 2 first sum / (both sums)
    jaccard_bits,      // bits in one of the two, and in either; value: quotient of the sums
    dice_bits,         // the same counts; value: first sum over the bits of both rows
    unmatched_bits,    // bits of the point that the query lacks; GPU only
    logarithms,        // (q + x) log2 (q + x); the rows' own terms complete the value; GPU only
};
// The number of steps with CPU kernels, which come first.
inline constexpr int step_count = static_cast<int>(Step::dice_bits) + 1;

// True if the GPU compares bits, regardless of the coordinates: it counts bits that two rows share.
constexpr bool counts_bits(Step step) {
    return step == Step::mismatched_bits ||
           (step >= Step::jaccard_bits && step <= Step::unmatched_bits);
}

// True if values are integers: the number of coordinates, or bits, that differ.
constexpr bool counts_differences(Step step) {
    return step == Step::mismatches || step == Step::mismatched_bytes ||
           step == Step::mismatched_bits || step == Step::unmatched_bits;
}

// The words of a row.
enum class Coordinates {
    exact,    // f32, if that holds the coordinate exactly
    nearest,  // f32, rounded; the error includes this rounding
    rounded,  // f32, rounded, after subtraction of a centre (RoundingCost)
    roots,    // f32, rounded: the square root of the coordinate; the error includes this rounding
    i8,
    u8,             // i8, u8: four to a word, for integers of that type
    rounded_bytes,  // four to a word: centred, rounded to an i8 integer, plus 128
    indicators,     // f32: 1 for a nonzero coordinate
    sets,           // 32 to a word: a set bit for a nonzero coordinate
    // 32 / values to a word: bit g (32 / values) + i is set if coordinate i has category g
    few_values,
    rounded_halves,  // two fp16 to a word: centred, rounded to an integer within +-1024
    shares,          // f32, rounded: the scaled coordinate, at least smallest_share
};
// is_whole: centred coordinates become integers. whole_range: the limits of these.
constexpr bool is_whole(Coordinates c) {
    return c == Coordinates::rounded_bytes || c == Coordinates::rounded_halves;
}
struct WholeRange {
    double least, most;
};
// Differences of two such integers are exact in a byte, or in fp16.
constexpr WholeRange whole_range(Coordinates c) {
    return c == Coordinates::rounded_bytes ? WholeRange{-128, 127} : WholeRange{-1024, 1024};
}
constexpr bool has_centre(Coordinates c) {
    return c == Coordinates::rounded || is_whole(c);
}

// For roots. Coordinates below smallest_root_of count as 0. Nonzero coordinates below
// smallest_covered are not covered, because binary64's own quotients lose bits.
inline constexpr double smallest_root_of = 0x1p-100, smallest_covered = 0x1p-1000;
// Ensures that a sum of two shares has a logarithm.
inline constexpr double smallest_share = 0x1p-60;

// The error of a direct form, underflow excluded.
struct DirectError {
    double sums = 1;  // number of d-term sums with errors that enter the value; 0: it is exact
    double relative = 0, absolute = 0;
};

// The cost of rounded coordinates. The key is the `power`-th power of a norm, so the triangle
// inequality bounds how far keys of rows and of rounded rows differ. Let delta be the Euclidean
// length of a row's rounding residual. Either key is at most `growth` times the other, plus
// `factor` delta^power for each of the two rows.
struct RoundingCost {
    double power = 0;      // 0: no bound on the cost is known
    bool largest = false;  // delta is the residual's largest magnitude, not its length
    double growth = 1, factor = 1;
};

struct DirectForm {
    Step step = Step::dot;
    float exponent = 0;  // of Step::powers; for Step::logarithms the factor of their sum
    Coordinates coordinates = Coordinates::exact;
    int values = 0;  // Coordinates::few_values: number of categories, a power of two from 2 to 32
    double degree = 0;  // coordinates times t scale the key by t^degree; 0: no scaling
    // Range of magnitudes of nonzero coordinates that the bound covers, and whether it covers
    // negative ones.
    double smallest = 0, largest = std::numeric_limits<double>::infinity();
    bool negative = true;
    KITH_HD bool covers(double x) const {
        const double size = x < 0 ? -x : x;
        return x == 0 || (size >= smallest && size <= largest && (negative || x > 0));
    }
    DirectError error;
    RoundingCost rounding;  // of f64 points, and of queries that f32 does not hold
};

// `split` divides the cost of powers: `growth` rises with it, and `factor` falls. For squares any
// split up to 1/2 is valid. The best is the ratio of the loss of two rows to the distance of near
// ones. 0: a default for small losses.
RoundingCost rounding_cost(const DirectForm& form, std::int64_t d, double split = 0);

constexpr int coordinates_per_word(const DirectForm& form) {
    switch (form.coordinates) {
        case Coordinates::i8:
        case Coordinates::u8:
        case Coordinates::rounded_bytes:
            return 4;
        case Coordinates::rounded_halves:
            return 2;
        case Coordinates::sets:
            return 32;
        case Coordinates::few_values:
            return 32 / form.values;
        default:
            return 1;
    }
}

// The form for points of this element type; none if f32 cannot serve.
std::optional<DirectForm> direct_form(const metric::Traits& traits, const metric::Params& params,
                                      ElementType type);

// The number of differing categorical coordinates, each with at most `values` categories.
DirectForm few_valued_form(int values);
// A form of cheaper steps with an absolute error, if there is one. Sums of differences of bytes or
// of their squares, four to a word; maxima of integers in fp16, two to a word; divergences with one
// logarithm in place of a quotient and a polynomial.
std::optional<DirectForm> coarse_form(const metric::Traits& traits, const metric::Params& params);
constexpr bool is_coarse(const DirectForm& form) {
    return is_whole(form.coordinates) || form.coordinates == Coordinates::shares;
}

// For Coordinates::shares. share_scale: the power of two that brings the sums of two shares near 1.
// share_factor: the factor of sums of logarithms. share_weight: a row's share of the bound per size
// (ShareTerms), in addition to direct_bound's `lost`.
double share_scale(std::int64_t d);
KITH_HD double share_factor(double scale) {
    return 0x1.62e42fefa39efp-1 / scale;
}
double share_weight(std::int64_t d);
// A row's own part of the key, and its size: sums of p (log2 p + 1) and p (|log2 p| + 1), with p a
// scaled coordinate. Both are to be multiplied by share_factor.
struct ShareTerms {
    double own = 0, size = 0;
    KITH_HD void add(double p) {
        if (!(p > 0)) return;
        const double log = std::log2(p);
        own += p * (log + 1);
        size += p * (std::abs(log) + 1);
    }
};

// If k points have upper values of at most U, no point among the k nearest has a value above U
// growth + 2 lost.
struct DirectBound {
    double growth = 1;  // (1 + g) / (1 - g), slightly widened
    double lost = 0;
};
DirectBound direct_bound(const DirectError& error, std::int64_t d);

// Likewise for rounded rows. A row's share is `weight` delta^power. It lowers a point's value, and
// twice that is the point's slack; a query adds it to `lost`.
struct RoundedBound {
    double growth = 1, weight = 0;
};
RoundedBound rounded_bound(const RoundingCost& rounding, const DirectBound& bound);
// A row's share, from the squared length of its rounding residual and, for centred coordinates, of
// the row itself (else 0). With rounding.largest: from the largest squares.
KITH_HD double rounded_share(const RoundingCost& rounding, double weight, double residual2,
                             double centred2) {
    // Covers the rounding of the sums, and of the difference from the centre.
    const double delta = ScalarOps<double>::sqrt(residual2) * (1 + 0x1p-30) +
                         ScalarOps<double>::sqrt(centred2) * 0x1p-50;
    return rounding.power == 1 ? weight * delta
                               : weight * portable::power(delta, rounding.power) * (1 + 0x1p-30);
}

}  // namespace kith::exact
