// Jensen-Shannon distance, natural logarithm: sqrt of (KL(p, m) + KL(r, m)) / 2 with p = q / sum q,
// r = x / sum x, m = (p + r) / 2, as scipy. Ordered by the sum of the two divergences. A vector
// that sums to 0 is left as it is.
#pragma once

#include "metric/metric.h"

namespace kith::metric {

struct JensenShannon : Base {
    static constexpr Traits traits{
        .direct = Direct::divergence, .non_negative = true, .scale_free = true};
    static constexpr int aux = 1;  // the sum
    KITH_HD static double aux_finish(int, double sum, const Params&) {
        return sum == 0.0 ? 1.0 : sum;
    }
    template <class O>
    KITH_HD static typename O::V map(typename O::V x, const typename O::V* aux, typename O::V) {
        return O::div(x, aux[0]);
    }
    template <class O>
    KITH_HD static typename O::V term(typename O::V p, typename O::V m) {
        const auto zero = O::set(0.0);
        const auto ratio = O::select(O::eq(p, zero), O::set(1.0), O::div(p, m));
        return O::select(O::eq(p, zero), zero,
                         O::mul(p, O::map([](double lane) { return portable::log(lane); }, ratio)));
    }
    template <class O>
    KITH_HD static void step(typename O::V* a, typename O::V q, typename O::V x, const Params&) {
        const auto m = O::mul(O::set(0.5), O::add(q, x));
        a[0] = O::add(a[0], O::add(term<O>(q, m), term<O>(x, m)));
    }
    KITH_HD static double finish(const double* a, const double*, const double*, const Params&) {
        return a[0] < 0.0 ? 0.0 : a[0];  // equal vectors may leave a rounding below zero
    }
    KITH_HD static double report(double rank, const Params&) {
        return ScalarOps<double>::sqrt(rank * 0.5);
    }
};

}  // namespace kith::metric
