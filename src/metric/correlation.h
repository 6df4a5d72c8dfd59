// Correlation distance: the cosine distance of the vectors less their means; 1 where either is
// constant.
#pragma once

#include "metric/cosine.h"

namespace kith::metric {

struct Correlation : Cosine {
    static constexpr int aux = 2;  // the mean, then the squared norm of the centred vector
    template <class O>
    KITH_HD static typename O::V map(typename O::V x, const typename O::V* aux, typename O::V) {
        return O::sub(x, aux[0]);
    }
    template <class O>
    KITH_HD static typename O::V aux_step(int stage, typename O::V sum, typename O::V x,
                                          const typename O::V* aux, typename O::V) {
        if (stage == 0) return O::add(sum, x);
        const auto t = O::sub(x, aux[0]);
        return O::fma(t, t, sum);
    }
    KITH_HD static double aux_finish(int stage, double sum, const Params& params) {
        return stage == 0 ? sum / static_cast<double>(params.d) : sum;
    }
    KITH_HD static double finish(const double* a, const double* q, const double* x, const Params&) {
        return from_dot(a[0], q[1], x[1]);
    }
};

}  // namespace kith::metric
