// Filter values that a range query excludes, and upper values that it includes, from bounds on the
// distance keys within the radius (docs/proofs/radius.md, lemma 5). Plain host code too: tests/unit
// attacks the arithmetic without a device.
#pragma once

#include <cmath>

#include "gpu/metric/filter_form.h"

namespace kith::gpu {

// For one query: the filter's w = key * scale + offset, within `error` (E) as in section 4; for a
// direct form also within a relative bound `growth`.
struct KeyImage {
    double scale = 1, offset = 0;
    double error = 0;
    double growth = 1;
    // Values are an integer plus a fraction below 1 (FilterForm::tie_classes).
    bool whole = false;
    double ceiling = std::numeric_limits<double>::infinity();  // FilterForm::ceiling
};

// The binary64 error of either term of w, with a factor of a hundred to spare.
inline constexpr double image_slack = 0x1p-38;
// Larger upper values may come from sums that overflowed.
inline constexpr double most_accepted = 0x1p127;

// No pair with a key of at most `outer` has a larger value. The result is not NaN. To be rounded
// upwards to f32; the largest f32 number stands for all larger values.
KITH_HD double excluded_above(const KeyImage& image, double outer) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (!(outer > -infinity)) return -infinity;
    if (!(outer < infinity)) return infinity;
    const double w = image.whole ? std::floor(outer) + 1 : outer * image.scale;
    const double size = std::abs(w) + std::abs(image.offset);
    const double value = (w + image.offset + size * image_slack) * image.growth + image.error;
    return value == value ? value : infinity;
}

// Every pair with an upper value a + 2 F, rounded upwards, of at most this has a key of at most
// `inner`. The result is -inf if this can be proven of no pair. To be rounded downwards to f32.
KITH_HD double included_up_to(const KeyImage& image, double inner) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (!(inner > -infinity) || !(image.scale > 0) || (image.whole && inner < 0)) return -infinity;
    const double most =
        image.ceiling < most_accepted ? image.ceiling * (1 - 0x1p-20) : most_accepted;
    if (!(inner < infinity)) return most;
    const double w = image.whole ? std::floor(inner) + 1 : inner * image.scale;
    const double size = std::abs(w) + std::abs(image.offset);
    const double upper = (w + image.offset - size * image_slack) / image.growth - image.error;
    const double value = upper - std::abs(upper) * 0x1p-21;
    if (!(std::abs(value) < infinity)) return -infinity;
    return value < most ? value : most;
}

}  // namespace kith::gpu
