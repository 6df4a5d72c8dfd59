// Coordinates as the fused filter sees them, before the scale: map(x) less the centre; after a
// factor L' W (map(x) - centre); of the points of a cross entropy log x - centre. What binary64
// rounds of them, the bound pays for (bound.h).
#pragma once

#include "gpu/filter/bound.h"
#include "gpu/filter/factored.cuh"
#include "gpu/metric/kernels.h"

namespace kith::gpu {

template <class M>
inline constexpr bool takes_logarithms = M::traits.gemm == metric::Gemm::cross_entropy;

// As the metric sees them: of a row's element i.
template <class M>
__device__ __forceinline__ double mapped(double element, const PreparedRows& in, std::int64_t row,
                                         std::int64_t i, const metric::Params& params) {
    return M::template map<ScalarOps<double>>(element, in.aux + row * metric::max_aux,
                                              metric::constant<M>(params, i));
}

// Of a row's element i. `plain`: without logarithm and centre, as of a vector that will be made
// unit.
template <class M>
__device__ __forceinline__ double coordinate(double element, const PreparedRows& in,
                                             std::int64_t row, std::int64_t i,
                                             const FilterForm& form, const metric::Params& params,
                                             bool plain) {
    double x = mapped<M>(element, in, row, i, params);
    if (M::traits.factored || plain) return x;
    if constexpr (takes_logarithms<M>) x = portable::log(x);
    return form.centre ? x - __ldg(form.centre + i) : x;
}

// Of the row at a position.
template <class M>
__device__ __forceinline__ double coordinate(const PreparedRows& in, std::int64_t row,
                                             std::int64_t position, std::int64_t i,
                                             const FilterForm& form, const metric::Params& params,
                                             bool plain) {
    if constexpr (M::traits.factored)
        if (form.factor.rows)
            return form.factor.rows[(position - form.factor.first) * params.d + i];
    return coordinate<M>(in.rows.at(row, i), in, row, i, form, params, plain);
}

}  // namespace kith::gpu
