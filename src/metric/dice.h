// Dice distance of the sets of coordinates that are not zero: the share of those in one set only
// among the members of both, counted in each; 0 of two empty sets. With packed bits the sets are of
// bits.
#pragma once

#include "metric/jaccard.h"

namespace kith::metric {

struct Dice : Jaccard {
    static constexpr Traits traits{.direct = Direct::dice, .packed_bits = true};
    // The sizes of the two sets add up to the members of one only and twice those of both.
    KITH_HD static double finish(const double* a, const double*, const double*, const Params&) {
        return a[1] == 0.0 ? 0.0 : a[0] / (a[0] + 2.0 * (a[1] - a[0]));
    }
};

}  // namespace kith::metric
