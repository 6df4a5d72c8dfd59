// Which filter values a radius excludes, and which upper values it includes, from bounds on the
// distance keys that are within (docs/exactness.md, section 9). Plain host code too: tests/unit
// attacks the arithmetic without a device.
#pragma once

#include <cmath>

#include "gpu/metric/filter_form.h"

namespace kith::gpu {

// Of one query: the filter's w = key * scale + offset, within `error` (E) as section 4 has it; of a
// direct form within a relative bound of that growth as well.
struct KeyImage {
    double scale = 1, offset = 0;
    double error = 0;
    double growth = 1;
    // Values are whole numbers and a fraction below 1 (FilterForm::tie_classes).
    bool whole = false;
    double ceiling = std::numeric_limits<double>::infinity();  // FilterForm::ceiling
};

// What binary64 may lose of either term of w, a hundred times over.
inline constexpr double image_slack = 0x1p-38;
// Upper values beyond may stand for sums that overflowed.
inline constexpr double most_accepted = 0x1p127;

// No pair whose key is at most `outer` has a value above this. Not NaN; to be rounded upwards to
// f32, whose largest number serves for all that is beyond.
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
// `inner`; -inf where that cannot be said of any. To be rounded downwards to f32.
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
