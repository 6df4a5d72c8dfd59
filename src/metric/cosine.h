// Cosine distance: 1 - <q, x> / (|q| |x|), within [0, 2]; 1 where either vector is zero.
#pragma once

#include "metric/metric.h"

namespace kith::metric {

struct Cosine : Base {
    static constexpr Traits traits{.gemm = Gemm::cosine};
    static constexpr int aux = 1;  // the norm
    template <class O>
    KITH_HD static typename O::V aux_term(int, typename O::V x, const typename O::V*, typename O::V) {
        return O::mul(x, x);
    }
    KITH_HD static double aux_finish(int, double sum, const Params&) { return ScalarOps<double>::sqrt(sum); }
    template <class O>
    KITH_HD static void step(typename O::V* a, typename O::V q, typename O::V x, const Params&) {
        a[0] = O::fma(q, x, a[0]);
    }
    KITH_HD static double from_dot(double dot, double norm_q, double norm_x) {
        if (norm_q == 0.0 || norm_x == 0.0) return 1.0;
        const double r = 1.0 - dot / (norm_q * norm_x);
        return r < 0.0 ? 0.0 : (r > 2.0 ? 2.0 : r);
    }
    KITH_HD static double finish(const double* a, const double* q, const double* x, const Params&) {
        return from_dot(a[0], q[0], x[0]);
    }
};

}  // namespace kith::metric
