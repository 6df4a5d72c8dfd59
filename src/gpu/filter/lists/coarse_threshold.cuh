// A query's threshold for values that are lower bounds of the full-dimensional ones (projection.h,
// bytes.h).
#pragma once

#include "gpu/filter/int8/bytes.h"
#include "gpu/primitives/f32.h"

namespace kith::gpu {

// For projected values: from the full-dimensional threshold and the query's share of the error.
__device__ __forceinline__ float coarse_threshold(float threshold, float error) {
    if (threshold == __int_as_float(0xff800000))
        return threshold;  // uncovered points (-inf) pass alone
    return fminf(__fadd_ru(threshold, error), largest_f32);
}

// For int8 values, in units of `unit`, the square of their step.
__device__ __forceinline__ int coarse_threshold(float threshold, float error, double unit) {
    if (threshold == __int_as_float(0xff800000)) return ByteLimits::nothing;
    const double highest = (static_cast<double>(threshold) + static_cast<double>(error)) / unit + 1;
    if (highest <= -ByteLimits::finite) return static_cast<int>(-ByteLimits::finite);
    if (highest < ByteLimits::finite) return static_cast<int>(ceil(highest));
    return highest >= ByteLimits::finite ? ByteLimits::everything
                                         : ByteLimits::never;  // NaN: no threshold
}

}  // namespace kith::gpu
