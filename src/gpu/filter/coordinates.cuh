// Coordinates of the fused filter before scaling: map(x) less the centre; L' W (map(x) - centre)
// with a factor; log x - centre for the points of a cross entropy. The bound pays for the binary64
// rounding of these (bound.h).
#pragma once

#include "gpu/filter/bound.h"
#include "gpu/filter/direct/factored.cuh"
#include "gpu/metric/kernels.h"

namespace kith::gpu {

template <class M>
inline constexpr bool takes_logarithms = M::traits.gemm == metric::Gemm::cross_entropy;

// The mapped coordinate: element i of a row as the metric uses it.
template <class M>
__device__ __forceinline__ double mapped(double element, const PreparedRows& in, std::int64_t row,
                                         std::int64_t i, const metric::Params& params) {
    return M::template map<ScalarOps<double>>(element, in.aux + row * metric::max_aux,
                                              metric::constant<M>(params, i));
}

// The filter's coordinate of a row's element i. `plain`: without logarithm and centre, for a vector
// that is made unit later.
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

// The filter's coordinate i of the row at a position.
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
