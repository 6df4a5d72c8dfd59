// Standardized Euclidean distance: sqrt of sum (q / s - x / s)^2 with s = sqrt V, V the variance of
// each coordinate. Ordered by the sum.
#pragma once

#include "metric/metric.h"

namespace kith::metric {

struct SEuclidean : Base {
    static constexpr Traits traits{
        .gemm = Gemm::l2, .monotone = true, .per_coordinate = true, .root = Root::square};  // s
    template <class O>
    KITH_HD static typename O::V map(typename O::V x, const typename O::V*, typename O::V s) {
        return O::div(x, s);
    }
    template <class O>
    KITH_HD static void step(typename O::V* a, typename O::V q, typename O::V x, const Params&) {
        const auto t = O::sub(q, x);
        a[0] = O::fma(t, t, a[0]);
    }
    KITH_HD static double report(double rank, const Params&) {
        return ScalarOps<double>::sqrt(rank);
    }
};

}  // namespace kith::metric
