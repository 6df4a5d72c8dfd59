// Bray-Curtis distance: sum |q - x| / sum |q + x|; 0 / 0 is 0.
#pragma once

#include "metric/metric.h"

namespace kith::metric {

struct BrayCurtis : Base {
    static constexpr Traits traits{.direct = Direct::quotient};
    static constexpr int accumulators = 2;
    template <class O>
    KITH_HD static void step(typename O::V* a, typename O::V q, typename O::V x, const Params&) {
        a[0] = O::add(a[0], O::abs(O::sub(q, x)));
        a[1] = O::add(a[1], O::abs(O::add(q, x)));
    }
    template <class O>
    KITH_HD static void combine(typename O::V* a, const typename O::V* b) {
        a[0] = O::add(a[0], b[0]);
        a[1] = O::add(a[1], b[1]);
    }
    KITH_HD static double finish(const double* a, const double*, const double*, const Params&) {
        return a[0] == 0.0 && a[1] == 0.0 ? 0.0 : a[0] / a[1];
    }
};

}  // namespace kith::metric
