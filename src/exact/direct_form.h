// The direct forms of the filter: which step evaluates a metric in f32, on what coordinates, and
// what of the distance key it may be wrong by (docs/exactness.md, section 6). Both backends take
// the same steps, each with its own instructions; the errors are those of either.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "kith/types.h"
#include "metric/metric.h"
#include "metric/portable.h"

namespace kith::exact {

// What a word of query and point adds to a pair's accumulators, to which its half norm is added.
// Words are f32 coordinates, except where four bytes are said.
enum class Step {
    dot,               // q x; no direct form
    cityblock,         // |q - x|
    chebyshev,         // the larger one, of it and |q - x|
    squares,           // |q - x|^2
    cubes,             // |q - x|^3
    fourths,           // |q - x|^4
    powers,            // |q - x|^p, p a tile's exponent
    quotients,         // |q - x| / (|q| + |x|)
    quotient,          // |q - x| and |q + x|; the value is the quotient of the two sums
    mismatches,        // 1 where q and x differ
    mismatched_bytes,  // how many of the four bytes differ
    mismatched_bits,   // how many bits of the four bytes differ
    divergence,        // q^2 log(q^2 / m) + x^2 log(x^2 / m) with m = (q^2 + x^2) / 2
    jaccard_sets,    // |q - x| and |q + x|, words 0 or 1; the value is the first sum's double over
                     // both
    jaccard_bits,    // bits in one of the two, and in either; the value is the quotient of the two
                     // sums
    dice_bits,       // the same counts; the value is the first over the bits of both
    unmatched_bits,  // the point's bits that the query has not; on a GPU only
    logarithms,  // (q + x) log2 (q + x), which the value lacks of terms of the rows' own; on a GPU
                 // only
};
// Those that a CPU has kernels for come first.
inline constexpr int step_count = static_cast<int>(Step::dice_bits) + 1;

// Whether words are bits whatever the coordinates were, for a GPU: it counts what two rows have in
// common.
constexpr bool counts_bits(Step step) {
    return step == Step::mismatched_bits ||
           (step >= Step::jaccard_bits && step <= Step::unmatched_bits);
}

// Whether values are whole numbers: how many coordinates, or bits, differ.
constexpr bool counts_differences(Step step) {
    return step == Step::mismatches || step == Step::mismatched_bytes ||
           step == Step::mismatched_bits || step == Step::unmatched_bits;
}

// The words of a row.
enum class Coordinates {
    exact,    // f32, where that holds the coordinate
    nearest,  // f32, rounded: what that takes of a coordinate is in the error
    rounded,  // f32, rounded: the coordinate less a centre (RoundingCost)
    roots,    // f32, rounded: the root of the coordinate, likewise in the error
    i8,
    u8,             // four to a word, where they are whole numbers of that type
    rounded_bytes,  // four to a word: the coordinate less a centre, rounded to a whole number of
                    // i8, plus 128
    indicators,     // f32: 1 where the coordinate is not 0
    sets,           // 32 to a word: a bit that is set where the coordinate is not 0
    few_values,  // 32 / values to a word: bit g (32 / values) + i is set where coordinate i has its
                 // value g
    rounded_halves,  // two fp16 to a word: the coordinate less a centre, rounded to a whole number
                     // of +-1024
    shares,          // f32, rounded: the coordinate times a scale, at least smallest_share
};
// Whether coordinates less a centre become whole numbers, and the ends of their range.
constexpr bool is_whole(Coordinates c) {
    return c == Coordinates::rounded_bytes || c == Coordinates::rounded_halves;
}
struct WholeRange {
    double least, most;
};
// The differences of two numbers are whole numbers that a byte, and fp16, holds.
constexpr WholeRange whole_range(Coordinates c) {
    return c == Coordinates::rounded_bytes ? WholeRange{-128, 127} : WholeRange{-1024, 1024};
}
constexpr bool has_centre(Coordinates c) {
    return c == Coordinates::rounded || is_whole(c);
}

// Of coordinates whose roots are words: below the first they are taken to be 0, below the second
// they are not covered, as binary64's own quotients lose bits.
inline constexpr double smallest_root_of = 0x1p-100, smallest_covered = 0x1p-1000;
// So that a sum of two shares has a logarithm.
inline constexpr double smallest_share = 0x1p-60;

// Of a direct form, beside underflow.
struct DirectError {
    double sums = 1;  // sums of d terms whose errors the value has; 0: it is exact
    double relative = 0, absolute = 0;
};

// What rounded coordinates cost. The key is the `power`-th power of a norm, so that keys of rows
// and of their roundings differ by what the triangle inequality gives: with delta the Euclidean
// length of what rounding took from a row, one of the two is at most `growth` times the other, and
// `factor` delta^power for either row more.
struct RoundingCost {
    double power = 0;      // 0: no cost is known
    bool largest = false;  // delta is the largest magnitude of what rounding took, not its length
    double growth = 1, factor = 1;
};

struct DirectForm {
    Step step = Step::dot;
    float exponent = 0;  // of Step::powers; of Step::logarithms what their sum is multiplied by
    Coordinates coordinates = Coordinates::exact;
    int values = 0;  // of Coordinates::few_values: what a coordinate is told from, a power of two
                     // from 2 to 32
    double degree =
        0;  // coordinates times t have t^degree times the key, and may be scaled; 0: they are not
    // Magnitudes other than 0 of coordinates that the bound covers, and whether negative ones are.
    double smallest = 0, largest = std::numeric_limits<double>::infinity();
    bool negative = true;
    KITH_HD bool covers(double x) const {
        const double size = x < 0 ? -x : x;
        return x == 0 || (size >= smallest && size <= largest && (negative || x > 0));
    }
    DirectError error;
    RoundingCost rounding;  // of points of f64, and of queries that f32 does not hold
};

// Of powers `split` divides the cost between the two: `growth` rises with it, and `factor` falls.
// Of squares any up to 1/2 is right; least in all is the ratio of what two rows have lost to the
// distance of near ones. 0: for little that is lost.
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

// Of points with elements of that type; none where f32 cannot serve.
std::optional<DirectForm> direct_form(const metric::Traits& traits, const metric::Params& params,
                                      ElementType type);

// How many coordinates differ where those of the points take few values each, so many at most.
DirectForm few_valued_form(int values);
// A form of cheaper steps, where there is one, whose error is absolute: sums of differences of
// bytes or of their squares, four to a word; maxima of whole numbers in fp16, two to a word; of
// divergences one logarithm in place of a quotient and a polynomial.
std::optional<DirectForm> coarse_form(const metric::Traits& traits, const metric::Params& params);
constexpr bool is_coarse(const DirectForm& form) {
    return is_whole(form.coordinates) || form.coordinates == Coordinates::shares;
}

// Of shares: the scale, a power of two, that brings the sums of two near 1; what sums of logarithms
// are multiplied by; and a row's share of the bound of their step, per size (ShareTerms), beside
// `lost` of direct_bound.
double share_scale(std::int64_t d);
KITH_HD double share_factor(double scale) {
    return 0x1.62e42fefa39efp-1 / scale;
}
double share_weight(std::int64_t d);
// A row's own part of the key, and its size: sums of p (log2 p + 1) and p (|log2 p| + 1), p a
// coordinate times the scale, to be multiplied by the factor.
struct ShareTerms {
    double own = 0, size = 0;
    KITH_HD void add(double p) {
        if (!(p > 0)) return;
        const double log = std::log2(p);
        own += p * (log + 1);
        size += p * (std::abs(log) + 1);
    }
};

// From k points with upper values up to U, no point of the k nearest has a value above U growth + 2
// lost.
struct DirectBound {
    double growth = 1;  // (1 + g) / (1 - g), a little wider
    double lost = 0;
};
DirectBound direct_bound(const DirectError& error, std::int64_t d);

// The same where rows are rounded. A row pays `weight` delta^power: a point's value is lowered by
// it, and twice that is its slack; a query adds it to `lost`.
struct RoundedBound {
    double growth = 1, weight = 0;
};
RoundedBound rounded_bound(const RoundingCost& rounding, const DirectBound& bound);
// A row's share, from the squared lengths of what rounding took and, of coordinates less a centre,
// of these (else 0); where that has `largest`, from the largest squares.
KITH_HD double rounded_share(const RoundingCost& rounding, double weight, double residual2,
                             double centred2) {
    // The sums' own roundings, and that of the difference from the centre.
    const double delta = ScalarOps<double>::sqrt(residual2) * (1 + 0x1p-30) +
                         ScalarOps<double>::sqrt(centred2) * 0x1p-50;
    return rounding.power == 1 ? weight * delta
                               : weight * portable::power(delta, rounding.power) * (1 + 0x1p-30);
}

}  // namespace kith::exact
