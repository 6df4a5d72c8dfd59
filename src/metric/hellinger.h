// Hellinger distance: sqrt of sum (sqrt q - sqrt x)^2, over sqrt 2 (Kato and Hosino 2009, formula
// 1, with the square that is missing in print). Ordered by the sum.
#pragma once

#include "metric/metric.h"

namespace kith::metric {

struct Hellinger : Base {
    static constexpr Traits traits{
        .gemm = Gemm::l2, .monotone = true, .non_negative = true, .root = Root::square};
    template <class O>
    KITH_HD static typename O::V map(typename O::V x, const typename O::V*, typename O::V) {
        return O::sqrt(x);
    }
    template <class O>
    KITH_HD static void step(typename O::V* a, typename O::V q, typename O::V x, const Params&) {
        const auto t = O::sub(q, x);
        a[0] = O::fma(t, t, a[0]);
    }
    KITH_HD static double report(double rank, const Params&) {
        return ScalarOps<double>::sqrt(rank) / 1.4142135623730951;
    }
};

}  // namespace kith::metric
