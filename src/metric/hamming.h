// Hamming distance: the share of the coordinates that differ; with packed bits, the share of the bits. Ordered by the
// count.
#pragma once

#include "metric/metric.h"

namespace kith::metric {

struct Hamming : Base {
    template <class O>
    KITH_HD static void step(typename O::V* a, typename O::V q, typename O::V x, const Params& params) {
        if (params.packed_bits) {
            // Coordinates are bytes: their xor's bits, counted through exact integers below 256.
            const auto count = O::map2(
                [](double l, double r) {
                    unsigned v = static_cast<unsigned>(l) ^ static_cast<unsigned>(r);
                    v = v - ((v >> 1) & 0x55u);
                    v = (v & 0x33u) + ((v >> 2) & 0x33u);
                    return static_cast<double>((v + (v >> 4)) & 0x0fu);
                },
                q, x);
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
