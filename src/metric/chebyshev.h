// Chebyshev distance: max |q - x|.
#pragma once

#include "metric/metric.h"

namespace kith::metric {

struct Chebyshev : Base {
    static constexpr Traits traits{.direct = Direct::maximum, .monotone = true};
    template <class O>
    KITH_HD static void step(typename O::V* a, typename O::V q, typename O::V x, const Params&) {
        a[0] = O::max(a[0], O::abs(O::sub(q, x)));
    }
    template <class O>
    KITH_HD static void combine(typename O::V* a, const typename O::V* b) {
        a[0] = O::max(a[0], b[0]);
    }
};

}  // namespace kith::metric
