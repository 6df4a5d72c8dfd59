// Cosine distance: 1 - <q, x> / sqrt(|q|^2 |x|^2), within [0, 2]; 1 where either vector is zero. Of
// equal vectors the three sums are the same number, whose square has it as its root, and the
// distance is 0.
#pragma once

#include "metric/metric.h"

namespace kith::metric {

struct Cosine : Base {
    static constexpr Traits traits{.gemm = Gemm::cosine, .scale_free = true};
    static constexpr int aux = 1;  // the squared norm, summed as the product is
    template <class O>
    KITH_HD static typename O::V aux_step(int, typename O::V sum, typename O::V x,
                                          const typename O::V*, typename O::V) {
        return O::fma(x, x, sum);
    }
    template <class O>
    KITH_HD static void step(typename O::V* a, typename O::V q, typename O::V x, const Params&) {
        a[0] = O::fma(q, x, a[0]);
    }
    // Of the product and both squared norms.
    KITH_HD static double from_dot(double dot, double norm2_q, double norm2_x) {
        if (norm2_q == 0.0 || norm2_x == 0.0) return 1.0;
        const double r = 1.0 - dot / ScalarOps<double>::sqrt(norm2_q * norm2_x);
        return r < 0.0 ? 0.0 : (r > 2.0 ? 2.0 : r);
    }
    KITH_HD static double finish(const double* a, const double* q, const double* x, const Params&) {
        return from_dot(a[0], q[0], x[0]);
    }
};

}  // namespace kith::metric
