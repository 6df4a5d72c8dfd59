// Mahalanobis distance: sqrt of (q - x)' VI (q - x), ordered by the quadratic form. The outer sum runs in canonical
// order over i of t_i * (VI t)_i, the inner one over j = 0, 1, ... with fused multiply-adds.
#pragma once

#include "metric/metric.h"

namespace kith::metric {

struct Mahalanobis : Base {
    static constexpr Traits traits{.factored = true, .whole_vector = true};
    // The term of coordinate i; `t` gives all d differences q - x, row i of VI starts at `row`, its elements `step`
    // apart.
    template <class Differences>
    KITH_HD static double whole_term(const Differences& t, const double* row, std::int64_t i, const Params& params,
                                     std::int64_t step = 1) {
        double w = 0.0;
        for (std::int64_t j = 0; j < params.d; ++j) w = fused(row[j * step], t[j], w);
        return t[i] * w;
    }
    KITH_HD static double report(double rank, const Params&) {
        return ScalarOps<double>::sqrt(rank < 0.0 ? 0.0 : rank);
    }
};

}  // namespace kith::metric
