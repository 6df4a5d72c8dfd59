// Manhattan distance: sum |q - x|.
#pragma once

#include "metric/metric.h"

namespace kith::metric {

struct Cityblock : Base {
    static constexpr Traits traits{.direct = Direct::sum, .monotone = true};
    template <class O>
    KITH_HD static void step(typename O::V* a, typename O::V q, typename O::V x, const Params&) {
        a[0] = O::add(a[0], O::abs(O::sub(q, x)));
    }
};

}  // namespace kith::metric
