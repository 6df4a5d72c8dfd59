// Squared Euclidean distance: sum (q - x)^2.
#pragma once

#include "metric/metric.h"

namespace kith::metric {

struct SqEuclidean : Base {
    static constexpr Traits traits{.gemm = Gemm::l2, .direct = Direct::squares, .monotone = true};
    template <class O>
    KITH_HD static void step(typename O::V* a, typename O::V q, typename O::V x, const Params&) {
        const auto t = O::sub(q, x);
        a[0] = O::fma(t, t, a[0]);
    }
};

}  // namespace kith::metric
