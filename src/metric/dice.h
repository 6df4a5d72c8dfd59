// Dice distance of the sets of nonzero coordinates: the members of exactly one set over the sizes
// of both, summed; 0 for two empty sets. With packed bits the sets consist of bits.
#pragma once

#include "metric/jaccard.h"

namespace kith::metric {

struct Dice : Jaccard {
    static constexpr Traits traits{.direct = Direct::dice, .packed_bits = true};
    // The sizes of the two sets sum to the members of exactly one plus twice those of both.
    KITH_HD static double finish(const double* a, const double*, const double*, const Params&) {
        return a[1] == 0.0 ? 0.0 : a[0] / (a[0] + 2.0 * (a[1] - a[0]));
    }
};

}  // namespace kith::metric
