// What is measured of a row: whether it has a NaN, and the metric's auxiliary values.
#pragma once

#include "exact/canonical.h"
#include "gpu/metric/kernels.h"
#include "gpu/metric/rank.cuh"
#include "gpu/primitives/warp.cuh"

namespace kith::gpu {

// By a warp, a lane for one partial sum; all of its lanes see what was written. `plain`: elements
// lie side by side.
template <class M, bool plain = false>
__device__ void measure_row(const Rows& rows, std::int64_t row, const RowMeasures& out,
                            const metric::Params& params) {
    using O = ScalarOps<double>;
    const int lane = threadIdx.x % 32;
    bool bad = false;
    const auto look = [&](std::int64_t, double x) { bad |= x != x; };
    if constexpr (plain) rows.template each<32>(row, lane, params.d, look);
    else
        for (std::int64_t i = lane; i < params.d; i += 32) look(i, rows.at(row, i));
    bad = __any_sync(0xffffffffu, bad);
    if (lane == 0) out.nan[row] = bad;
    double values[metric::max_aux] = {};
    for (int stage = 0; stage < M::aux; ++stage) {
        double a[1] = {0.0};
        for (std::int64_t i = lane; i < params.d; i += 32)
            a[0] = M::template aux_step<O>(stage, a[0], rows.at(row, i), values,
                                           metric::constant<M>(params, i));
        warp_combine<exact::detail::Sum, 1>(a);
        values[stage] = M::aux_finish(stage, a[0], params);
    }
    if (lane == 0)
        for (int stage = 0; stage < M::aux; ++stage)
            out.aux[row * metric::max_aux + stage] = values[stage];
    __syncwarp();
}

}  // namespace kith::gpu
