// The canonical distance: it defines "the distance" of two vectors to the last bit
// (docs/contract.md). This is the plain C++ form with an array of 32 partial accumulators. src/cpu
// evaluates it in vector registers and src/gpu with one lane per partial. Tests hold the three
// together bit for bit.
#pragma once

#include <cstdint>
#include <limits>

#include "metric/metric.h"

namespace kith::exact {

inline constexpr int partials = 32;

// The distance key (docs/contract.md, section 1) in its total order: -0 counts as 0, and NaN as
// +inf. NaN arises from inf - inf and the like, from vectors without NaN.
KITH_HD double ordered_rank(double r) {
    return r != r ? bits_to_double(0x7ff0000000000000ULL) : r + 0.0;
}

// The fixed reduction tree over 32 partials of M::accumulators each; the result is in a[0].
template <class M>
inline void combine_partials(double (&a)[partials][metric::max_accumulators]) {
    for (int half = partials / 2; half > 0; half /= 2) {
        for (int j = 0; j < half; ++j) M::template combine<ScalarOps<double>>(a[j], a[j + half]);
    }
}

namespace detail {
struct Sum : metric::Base {};
}  // namespace detail

// Fills aux[0 .. M::aux) for the vector v of d raw coordinates, then maps the coordinates in place.
template <class M>
inline void prepare_vector(double* v, std::int64_t d, double* aux, const metric::Params& params) {
    using O = ScalarOps<double>;
    for (int stage = 0; stage < M::aux; ++stage) {
        double a[partials][metric::max_accumulators] = {};
        for (std::int64_t i = 0; i < d; ++i) {
            double& sum = a[i % partials][0];
            sum = M::template aux_step<O>(stage, sum, v[i], aux, metric::constant<M>(params, i));
        }
        combine_partials<detail::Sum>(a);
        aux[stage] = M::aux_finish(stage, a[0][0], params);
    }
    for (std::int64_t i = 0; i < d; ++i)
        v[i] = M::template map<O>(v[i], aux, metric::constant<M>(params, i));
}

// The rank of a pair of prepared vectors. `scratch` holds d doubles for metrics with
// traits.whole_vector.
template <class M>
inline double rank(const double* q, const double* x, const double* aux_q, const double* aux_x,
                   const metric::Params& params, double* scratch) {
    using O = ScalarOps<double>;
    double a[partials][metric::max_accumulators] = {};
    if constexpr (M::traits.whole_vector) {
        for (std::int64_t i = 0; i < params.d; ++i) scratch[i] = q[i] - x[i];
        for (std::int64_t i = 0; i < params.d; ++i) {
            double& sum = a[i % partials][0];
            sum = sum + M::whole_term(scratch, params.constants + i * params.d, i, params);
        }
    } else {
        for (std::int64_t i = 0; i < params.d; ++i)
            M::template step<O>(a[i % partials], q[i], x[i], params);
    }
    combine_partials<M>(a);
    return ordered_rank(M::finish(a[0], aux_q, aux_x, params));
}

}  // namespace kith::exact
