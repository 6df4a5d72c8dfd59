// The direct forms, and the error of each.
#include "exact/direct_form.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kith::exact {

namespace {

// Beyond this exponent a power's relative error is no small number, and beyond the second what
// rounded rows cost is.
constexpr double max_exponent = 1024, max_rounded_exponent = 16;

DirectForm power(double p, double d) {
    DirectForm f;
    f.degree = p;
    // |q - x| is rounded once, which p counts, and p - 1 products are.
    f.error.relative = 2 * p * 0x1p-24;
    if (p == 1) {
        f.step = Step::cityblock;
    } else if (p == 2) {
        f.step = Step::squares;
    } else if (p == 3) {
        f.step = Step::cubes;
    } else if (p == 4) {
        f.step = Step::fourths;
    } else {
        f.step = Step::powers;
        f.exponent = static_cast<float>(p);
        f.error.relative = p * 0x1p-17 + 0x1p-15;
        f.error.absolute = d * 0x1p-123;
    }
    return f;
}

DirectForm mismatches(bool packed_bits, ElementType type) {
    DirectForm f;
    f.step = Step::mismatches;
    f.error.sums = 0;  // counts are exact
    if (type == ElementType::u8 || type == ElementType::i8) {
        f.step = packed_bits ? Step::mismatched_bits : Step::mismatched_bytes;
        f.coordinates = type == ElementType::u8 ? Coordinates::u8 : Coordinates::i8;
    }
    return f;
}

// Counts are exact, and their quotient is rounded once.
DirectForm shares(bool dice, bool packed_bits) {
    DirectForm f;
    f.coordinates = packed_bits ? Coordinates::u8 : Coordinates::indicators;
    if (packed_bits) f.step = dice ? Step::dice_bits : Step::jaccard_bits;
    else f.step = dice ? Step::quotient : Step::jaccard_sets;
    f.error.sums = 0;
    f.error.relative = 0x1p-23;
    return f;
}

DirectForm divergence(double d) {
    DirectForm f;
    f.step = Step::divergence;
    f.coordinates = Coordinates::roots;
    // The polynomial and the reciprocal; then what the roots' rounding takes of a key, in
    // proportion and in all; then binary64's logarithms, which cancel.
    f.error.relative = 0x1p-9 + 0x1p-12;
    f.error.absolute = 0x1p-33 + (2 * d + 40) * 0x1p-50;
    return f;
}

// The form, of coordinates that f32 holds.
std::optional<DirectForm> form_of(const metric::Traits& traits, const metric::Params& params,
                                  ElementType type) {
    const auto d = static_cast<double>(params.d);
    DirectForm f;
    switch (traits.direct) {
        case metric::Direct::none:
            return std::nullopt;
        case metric::Direct::squares:
            return power(2, d);
        case metric::Direct::sum:
            f.step = Step::cityblock;
            break;
        case metric::Direct::maximum:
            f.step = Step::chebyshev;
            break;
        case metric::Direct::powers:
            if (params.p > max_exponent) return std::nullopt;
            return power(params.p, d);
        case metric::Direct::quotients:
            f.step = Step::quotients;
            f.coordinates = Coordinates::nearest;
            f.smallest = 0x1p-100;
            f.largest = 0x1p100;
            f.error.relative = 0x1p-11;
            // Rounding moves a term by 2^-23, as it moves both parts by 2^-24 of |q| + |x|, and
            // their quotient is at most 1.
            f.error.absolute = d * 0x1p-22;
            break;
        case metric::Direct::quotient:
            f.step = Step::quotient;
            f.largest = 0x1p100;  // a sum that overflows would bring the value to 0
            f.error.sums = 2;
            f.error.relative = 0x1p-23;
            break;
        case metric::Direct::mismatches:
            return mismatches(params.packed_bits, type);
        case metric::Direct::jaccard:
        case metric::Direct::dice:
            return shares(traits.direct == metric::Direct::dice, params.packed_bits);
        case metric::Direct::divergence:
            return divergence(d);
    }
    return f;
}

}  // namespace

// (a + b)^p <= (1 + s)^(p-1) a^p + (1 + 1 / s)^(p-1) b^p for any s > 0, as the power is convex; b,
// what two rows have lost, is split into halves.
RoundingCost rounding_cost(const DirectForm& form, std::int64_t d, double split) {
    const auto n = static_cast<double>(d);
    RoundingCost r;
    switch (form.step) {
        case Step::cityblock:
            r.power = 1;
            r.factor = std::sqrt(n);  // of a sum and a Euclidean length
            break;
        case Step::chebyshev:
            r.power = 1;
            break;
        case Step::squares:
        case Step::cubes:
        case Step::fourths:
        case Step::powers: {
            const double p = form.degree, more = p - 1;
            if (p > max_rounded_exponent) break;
            r.power = p;
            // A quarter more candidates, in as many dimensions as there are coordinates.
            if (split == 0) split = 1 / (4 * n * more);
            r.growth = std::pow(1 + split, more);
            r.factor = std::pow(2 * (1 + 1 / split), more);
            // A norm of an exponent below 2 may exceed the Euclidean length.
            if (p < 2) r.factor *= std::pow(n, 1 - p / 2);
            break;
        }
        default:
            break;
    }
    return r;
}

std::optional<DirectForm> direct_form(const metric::Traits& traits, const metric::Params& params,
                                      ElementType type) {
    std::optional<DirectForm> form = form_of(traits, params, type);
    if (!form) return form;
    form->rounding = rounding_cost(*form, params.d);
    if (type != ElementType::f64) return form;
    if (form->rounding.power > 0) {
        form->coordinates = Coordinates::rounded;
        form->degree = form->rounding.power;
    } else if (form->step == Step::powers) {
        return std::nullopt;
    } else if (form->step == Step::quotient && traits.direct == metric::Direct::quotient) {
        // Where nothing cancels in the sums either moves by 2^-24 of that of |q| + |x|, and the
        // quotient is at most 1.
        form->coordinates = Coordinates::nearest;
        form->negative = false;
        form->smallest = 0x1p-100;
        form->error.absolute = 0x1p-22;
    }
    // Of a set it matters only which coordinates are 0; roots are rounded in any case; coordinates
    // that have to be equal have to be such that f32 holds.
    return form;
}

DirectForm few_valued_form(int values) {
    DirectForm f;
    f.step = Step::unmatched_bits;
    f.coordinates = Coordinates::few_values;
    f.values = values;
    f.error.sums = 0;
    return f;
}

std::optional<DirectForm> coarse_form(const metric::Traits& traits, const metric::Params& params) {
    // Dimensions: 32 bits hold the sum of so many squares of bytes, and f32 that of so many bytes.
    constexpr std::int64_t most = std::int64_t{1} << 16;
    std::optional<DirectForm> form = form_of(traits, params, ElementType::f32);
    if (!form || params.d > most) return std::nullopt;
    if (form->step == Step::divergence) {
        form->step = Step::logarithms;
        form->coordinates = Coordinates::shares;
        form->exponent = static_cast<float>(share_factor(share_scale(params.d)));
        form->error = {
            .sums = 0, .relative = 0, .absolute = static_cast<double>(params.d) * 0x1p-50};
        return form;
    }
    const bool maximum = form->step == Step::chebyshev;
    if (!maximum && form->step != Step::cityblock && form->step != Step::squares)
        return std::nullopt;
    form->coordinates = maximum ? Coordinates::rounded_halves : Coordinates::rounded_bytes;
    form->rounding = rounding_cost(*form, params.d);
    form->rounding.largest = maximum;
    form->degree = form->rounding.power;
    return form;
}

double share_scale(std::int64_t d) {
    return std::exp2(std::max(0.0, std::round(std::log2(static_cast<double>(d))) - 1));
}

double share_weight(std::int64_t d) {
    const auto n = static_cast<double>(d);
    // d roundings of the sum, 22 of all else, and room.
    return share_factor(share_scale(d)) * (n + 40) * 0x1p-24 * (1 + 2 * n * 0x1p-24);
}

DirectBound direct_bound(const DirectError& error, std::int64_t d) {
    const auto n = static_cast<double>(d);
    // Every factor is widened by far more than binary64 loses in evaluating the bound itself.
    const double g = error.sums * (n + 4) * 0x1p-24 * (1 + 2 * n * 0x1p-24) + error.relative;
    return {(1 + g) / (1 - g) * (1 + 0x1p-30), n * 0x1p-147 + error.absolute};
}

RoundedBound rounded_bound(const RoundingCost& rounding, const DirectBound& bound) {
    constexpr double slack = 1 + 0x1p-20;  // what evaluating the bound rounds
    return {bound.growth * rounding.growth * rounding.growth * slack,
            bound.growth * rounding.growth * rounding.factor * slack};
}

}  // namespace kith::exact
