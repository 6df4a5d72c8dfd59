// Kullback-Leibler divergence of the query from the point: sum q log(q / x). A term with q = 0 is
// 0; a term with q > 0 and x = 0 is +inf (scipy.special.rel_entr summed; the vectors are not
// normalised).
#pragma once

#include "metric/metric.h"

namespace kith::metric {

struct KlDivergence : Base {
    static constexpr Traits traits{.gemm = Gemm::cross_entropy, .non_negative = true};
    template <class O>
    KITH_HD static void step(typename O::V* a, typename O::V q, typename O::V x, const Params&) {
        const auto zero = O::set(0.0);
        // -0 equals 0.
        const auto none = O::eq(q, zero);
        const auto divisor = O::abs(x), ratio = O::select(none, O::set(1.0), O::div(q, divisor));
        const auto finite =
            O::select(O::eq(ratio, O::set(bits_to_double(0x7ff0000000000000ULL))), zero, ratio);
        const auto is_normal = O::eq(O::max(finite, O::set(0x1p-1022)), finite);
        const auto log = O::unless(
            is_normal, O::map([](double lane) { return portable::log(lane); }, ratio),
            [](double l, double r) {
                // The quotient of an infinite number is exact; scaled it may be inf / inf.
                const double infinity = bits_to_double(0x7ff0000000000000ULL);
                return l < infinity && r < infinity ? portable::log_of_quotient(l, r)
                                                    : portable::log(l / r);
            },
            q, divisor);
        a[0] = O::add(a[0], O::select(none, zero, O::mul(q, log)));
    }
};

}  // namespace kith::metric
