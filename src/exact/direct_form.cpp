// The direct forms, and the error of each.
#include "exact/direct_form.h"

#include <algorithm>
#include <cmath>

namespace kith::exact {

namespace {

// Beyond this exponent a power's relative error is no small number.
constexpr double max_exponent = 1024;
// Exponents of 2 of the scale of a key, either way.
constexpr double max_key_exponent = 800;

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

DirectForm divergence(double d) {
    DirectForm f;
    f.step = Step::divergence;
    f.coordinates = Coordinates::roots;
    // The polynomial and the reciprocal; then what the roots' rounding takes of a key, in proportion and in all; then
    // binary64's logarithms, which cancel.
    f.error.relative = 0x1p-9 + 0x1p-12;
    f.error.absolute = 0x1p-33 + (2 * d + 40) * 0x1p-50;
    return f;
}

}  // namespace

std::optional<DirectForm> direct_form(const metric::Traits& traits, const metric::Params& params, ElementType type) {
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
            f.smallest = 0x1p-100;
            f.largest = 0x1p100;
            f.error.relative = 0x1p-11;
            break;
        case metric::Direct::quotient:
            f.step = Step::quotient;
            f.largest = 0x1p100;  // a sum that overflows would bring the value to 0
            f.error.sums = 2;
            f.error.relative = 0x1p-23;
            break;
        case metric::Direct::mismatches:
            return mismatches(params.packed_bits, type);
        case metric::Direct::divergence:
            return divergence(d);
    }
    return f;
}

DirectBound direct_bound(const DirectError& error, std::int64_t d) {
    const auto n = static_cast<double>(d);
    // Every factor is widened by far more than binary64 loses in evaluating the bound itself.
    const double g = error.sums * (n + 4) * 0x1p-24 * (1 + 2 * n * 0x1p-24) + error.relative;
    return {(1 + g) / (1 - g) * (1 + 0x1p-30), n * 0x1p-147 + error.absolute};
}

double direct_scale(const DirectForm& form, std::vector<double> differences) {
    const auto unusable = [](double x) { return !(x > 0 && x < std::numeric_limits<double>::infinity()); };
    differences.erase(std::remove_if(differences.begin(), differences.end(), unusable), differences.end());
    if (form.degree == 0 || differences.empty()) return 1;
    const auto middle = differences.begin() + static_cast<std::ptrdiff_t>(differences.size() / 2);
    std::nth_element(differences.begin(), middle, differences.end());
    const double most = std::floor(max_key_exponent / form.degree);
    return std::ldexp(1.0, static_cast<int>(std::clamp(-std::ceil(std::log2(*middle)), -most, most)));
}

}  // namespace kith::exact
