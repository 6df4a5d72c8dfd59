// Jaccard distance of the sets of coordinates that are not zero: the share of those in one set only
// among those in either; 0 of two empty sets. With packed bits the sets are of bits, and 1 less the
// distance is Tanimoto's similarity. Both counts are exact and their quotient is rounded once, so
// equal shares are equal ranks.
#pragma once

#include "metric/metric.h"
#include "metric/packed_bits.h"

namespace kith::metric {

struct Jaccard : Base {
    static constexpr Traits traits{.direct = Direct::jaccard, .packed_bits = true};
    static constexpr int accumulators = 2;  // in one set only, in either
    template <class O>
    KITH_HD static void step(typename O::V* a, typename O::V q, typename O::V x,
                             const Params& params) {
        typename O::V one, either;
        if (params.packed_bits) {
            one = O::map2([](double l, double r) { return count_bits(byte_of(l) ^ byte_of(r)); }, q,
                          x);
            either = O::map2([](double l, double r) { return count_bits(byte_of(l) | byte_of(r)); },
                             q, x);
        } else {
            const auto zero = O::set(0.0), there = O::set(1.0);
            const auto of_q = O::select(O::eq(q, zero), zero, there),
                       of_x = O::select(O::eq(x, zero), zero, there);
            one = O::abs(O::sub(of_q, of_x));
            either = O::max(of_q, of_x);
        }
        a[0] = O::add(a[0], one);
        a[1] = O::add(a[1], either);
    }
    template <class O>
    KITH_HD static void combine(typename O::V* a, const typename O::V* b) {
        a[0] = O::add(a[0], b[0]);
        a[1] = O::add(a[1], b[1]);
    }
    KITH_HD static double finish(const double* a, const double*, const double*, const Params&) {
        return a[1] == 0.0 ? 0.0 : a[0] / a[1];
    }
};

}  // namespace kith::metric
