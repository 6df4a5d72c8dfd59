// Haversine distance: the great-circle angle between two points of a sphere, latitude and longitude
// in radians (scikit-learn's convention). Ordered by h = sin^2(dlat / 2) + cos(lat q) cos(lat x)
// sin^2(dlon / 2), in [0, 1].
#pragma once

#include "metric/metric.h"

namespace kith::metric {

struct Haversine : Base {
    // The constant is 1 for the latitude and 0 for the longitude. A pole is at pi / 2, which f32
    // rounds up; 2 pi in any element type is below 6.3. Coordinates in degrees mostly exceed both.
    static constexpr Traits traits{.per_coordinate = true,
                                   .dimensions = 2,
                                   .limits = {{0x1.921fb6p+0, "latitude"}, {6.3, "longitude"}}};
    static constexpr int accumulators = 2;  // the latitudes' term, the longitudes' term
    static constexpr int aux = 1;           // the latitude's cosine
    template <class O>
    KITH_HD static typename O::V aux_step(int, typename O::V sum, typename O::V x,
                                          const typename O::V*, typename O::V is_latitude) {
        return O::add(
            sum, O::mul(is_latitude, O::map([](double lane) { return portable::cos(lane); }, x)));
    }
    template <class O>
    KITH_HD static void step(typename O::V* a, typename O::V q, typename O::V x, const Params&) {
        const auto half = O::mul(O::set(0.5), O::sub(q, x));
        const auto sine = O::map([](double lane) { return portable::sin(lane); }, half);
        a[0] = O::fma(sine, sine, a[0]);
    }
    // Two coordinates are two partials, which only the last level of the tree joins. The first of
    // them stays the first: combine() does not commute.
    static constexpr bool combines_in_order = true;
    template <class O>
    KITH_HD static void combine(typename O::V* a, const typename O::V* b) {
        a[1] = O::add(a[1], b[0]);
    }
    KITH_HD static double finish(const double* a, const double* q, const double* x, const Params&) {
        const double h = a[0] + q[0] * x[0] * a[1];
        return h < 0.0 ? 0.0 : (h > 1.0 ? 1.0 : h);
    }
    // The angle 2 asin sqrt h; infinity for a missing neighbour, which is its rank.
    KITH_HD static double report(double rank, const Params&) {
        if (rank > 1.0) return rank;
        // Beyond a right angle via the supplement, where the arcsine is well conditioned.
        const double root = ScalarOps<double>::sqrt(rank > 0.5 ? 1.0 - rank : rank);
        // asin s = 2 asin(s / sqrt(2 + 2 sqrt(1 - s^2))): the argument is at most sin(pi / 8).
        const double cosine = ScalarOps<double>::sqrt(1.0 - root * root);
        const double angle =
            4.0 * portable::small_asin(root / ScalarOps<double>::sqrt(2.0 + 2.0 * cosine));
        return rank > 0.5 ? 0x1.921fb54442d18p+1 - angle : angle;
    }
};

}  // namespace kith::metric
