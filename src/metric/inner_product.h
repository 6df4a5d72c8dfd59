// Inner product, the largest first: ordered by its negative.
#pragma once

#include "metric/metric.h"

namespace kith::metric {

struct InnerProduct : Base {
    static constexpr Traits traits{.gemm = Gemm::dot, .similarity = true};
    template <class O>
    KITH_HD static void step(typename O::V* a, typename O::V q, typename O::V x, const Params&) {
        a[0] = O::fma(q, x, a[0]);
    }
    KITH_HD static double finish(const double* a, const double*, const double*, const Params&) {
        return -a[0];
    }
    KITH_HD static double report(double rank, const Params&) { return 0.0 - rank; }
};

}  // namespace kith::metric
