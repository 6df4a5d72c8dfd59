// The canonical tree over one warp: lane j holds partial j.
#pragma once

#include "metric/metric.h"

namespace kith::gpu {

// Joins the partials by xor 16, 8, 4, 2, 1; every lane ends with the result.
template <class M, int A>
__device__ __forceinline__ void warp_combine(double (&a)[A]) {
#pragma unroll
    for (int half = 16; half > 0; half /= 2) {
        double other[A];
#pragma unroll
        for (int i = 0; i < A; ++i) other[i] = __shfl_xor_sync(0xffffffffu, a[i], half);
        M::template combine<ScalarOps<double>>(a, other);
    }
}

// A sum over the warp in no promised order.
__device__ __forceinline__ double warp_sum(double x) {
#pragma unroll
    for (int half = 16; half > 0; half /= 2) x += __shfl_xor_sync(0xffffffffu, x, half);
    return x;
}
// The group of `lanes` neighbouring lanes that this one is in, as a mask of the warp; and sums over
// such groups, whose neighbours may have left.
template <int lanes>
__device__ __forceinline__ unsigned group_mask() {
    if constexpr (lanes == 32) return 0xffffffffu;
    else return ((1u << lanes) - 1) << (threadIdx.x % 32 / lanes * lanes);
}
template <int lanes>
__device__ __forceinline__ double group_sum(double x) {
#pragma unroll
    for (int half = lanes / 2; half > 0; half /= 2)
        x += __shfl_xor_sync(group_mask<lanes>(), x, half);
    return x;
}

__device__ __forceinline__ double warp_max(double x) {
#pragma unroll
    for (int half = 16; half > 0; half /= 2) x = fmax(x, __shfl_xor_sync(0xffffffffu, x, half));
    return x;
}

}  // namespace kith::gpu
