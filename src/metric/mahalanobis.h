// Mahalanobis distance: sqrt of (q - x)' VI (q - x), ordered by the quadratic form. The outer sum
// runs in canonical order over i of t_i * (VI t)_i, the inner one over j = 0, 1, ... with fused
// multiply-adds.
#pragma once

#include "metric/metric.h"

namespace kith::metric {

struct Mahalanobis : Base {
    static constexpr Traits traits{.factored = true, .whole_vector = true, .root = Root::square};
    // The term of coordinate i; `t` gives all d differences q - x, row i of VI starts at `row`, its
    // elements `step` apart.
    template <class Differences>
    KITH_HD static double whole_term(const Differences& t, const double* row, std::int64_t i,
                                     const Params& params, std::int64_t step = 1) {
        double w = 0.0;
        for (std::int64_t j = 0; j < params.d; ++j) w = fused(row[j * step], t[j], w);
        return t[i] * w;
    }
    // A form of nearly equal vectors may be rounded to below zero; one that is -inf has overflowed.
    KITH_HD static double finish(const double* a, const double*, const double*, const Params&) {
        if (a[0] >= 0.0) return a[0];
        return a[0] >= -0x1.fffffffffffffp+1023 ? 0.0 : bits_to_double(0x7ff0000000000000ULL);
    }
    KITH_HD static double report(double rank, const Params&) {
        return ScalarOps<double>::sqrt(rank);
    }
};

}  // namespace kith::metric
