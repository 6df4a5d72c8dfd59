// Canberra distance: sum |q - x| / (|q| + |x|), a term 0 / 0 being 0.
#pragma once

#include "metric/metric.h"

namespace kith::metric {

struct Canberra : Base {
    static constexpr Traits traits{.direct = Direct::quotients};
    template <class O>
    KITH_HD static void step(typename O::V* a, typename O::V q, typename O::V x, const Params&) {
        const auto zero = O::set(0.0);
        const auto scale = O::add(O::abs(q), O::abs(x));
        const auto term =
            O::div(O::abs(O::sub(q, x)), O::select(O::eq(scale, zero), O::set(1.0), scale));
        a[0] = O::add(a[0], term);
    }
};

}  // namespace kith::metric
