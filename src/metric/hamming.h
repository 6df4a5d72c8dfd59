// Hamming distance: the share of the coordinates that differ; with packed bits, the share of the
// bits. Ordered by the count.
#pragma once

#include "metric/metric.h"
#include "metric/packed_bits.h"

namespace kith::metric {

struct Hamming : Base {
    static constexpr Traits traits{.direct = Direct::mismatches, .packed_bits = true};
    template <class O>
    KITH_HD static void step(typename O::V* a, typename O::V q, typename O::V x,
                             const Params& params) {
        if (params.packed_bits) {
            const auto count = O::map2(
                [](double l, double r) { return count_bits(byte_of(l) ^ byte_of(r)); }, q, x);
            a[0] = O::add(a[0], count);
        } else {
            a[0] = O::add(a[0], O::select(O::eq(q, x), O::set(0.0), O::set(1.0)));
        }
    }
    KITH_HD static double report(double rank, const Params& params) {
        return rank / (static_cast<double>(params.d) * (params.packed_bits ? 8.0 : 1.0));
    }
};

}  // namespace kith::metric
