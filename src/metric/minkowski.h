// Minkowski distance of order p >= 1: ordered by sum |q - x|^p, reported as its p-th root. p =
// infinity never comes here: the front of the library turns it into chebyshev.
#pragma once

#include "metric/metric.h"

namespace kith::metric {

struct Minkowski : Base {
    static constexpr Traits traits{.direct = Direct::powers, .root = Root::power};
    template <class O>
    KITH_HD static void step(typename O::V* a, typename O::V q, typename O::V x,
                             const Params& params) {
        const double p = params.p;
        const auto t = O::abs(O::sub(q, x));
        a[0] = O::add(a[0], O::map([p](double lane) { return portable::power(lane, p); }, t));
    }
    KITH_HD static double report(double rank, const Params& params) {
        const double p = params.p;
        if (p == 1.0) return rank;
        if (p == 2.0) return ScalarOps<double>::sqrt(rank);
        return portable::power(rank, 1.0 / p);
    }
};

}  // namespace kith::metric
