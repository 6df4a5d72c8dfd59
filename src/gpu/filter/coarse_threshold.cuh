// A query's threshold for values that bound those of all coordinates from below (projection.h,
// bytes.h).
#pragma once

#include "gpu/filter/bytes.h"
#include "gpu/primitives/f32.h"

namespace kith::gpu {

// Of values along directions, from that of all coordinates and the query's share of the error.
__device__ __forceinline__ float coarse_threshold(float threshold, float error) {
    if (threshold == __int_as_float(0xff800000)) return threshold;  // nothing passes
    return fminf(__fadd_ru(threshold, error), largest_f32);
}

// Of whole numbers of 8 bits, in units of `unit`, their step squared.
__device__ __forceinline__ int coarse_threshold(float threshold, float error, double unit) {
    if (threshold == __int_as_float(0xff800000)) return ByteLimits::nothing;
    const double highest = (static_cast<double>(threshold) + static_cast<double>(error)) / unit + 1;
    if (highest <= -ByteLimits::finite) return static_cast<int>(-ByteLimits::finite);
    if (highest < ByteLimits::finite) return static_cast<int>(ceil(highest));
    return highest >= ByteLimits::finite ? ByteLimits::everything
                                         : ByteLimits::never;  // NaN: no threshold
}

}  // namespace kith::gpu
