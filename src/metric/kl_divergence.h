// Kullback-Leibler divergence of the query from the point: sum q log(q / x), a term with q = 0 being 0 and one with x =
// 0 alone +inf (scipy.special.rel_entr summed; the vectors are not normalised).
#pragma once

#include "metric/metric.h"

namespace kith::metric {

struct KlDivergence : Base {
    static constexpr Traits traits{.gemm = Gemm::cross_entropy, .non_negative = true};
    template <class O>
    KITH_HD static void step(typename O::V* a, typename O::V q, typename O::V x, const Params&) {
        const auto zero = O::set(0.0);
        // -0 equals 0.
        const auto ratio = O::select(O::eq(q, zero), O::set(1.0), O::div(q, O::abs(x)));
        const auto log = O::map([](double lane) { return portable::log(lane); }, ratio);
        a[0] = O::add(a[0], O::select(O::eq(q, zero), zero, O::mul(q, log)));
    }
};

}  // namespace kith::metric
