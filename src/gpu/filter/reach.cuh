// How far from a query a point may be whose value, as the filter computes it, is within the query's
// threshold (docs/exactness.md, section 12).
#pragma once

#include "gpu/primitives/f32.h"

namespace kith::gpu {

// Of a query or a point of that norm: what the accumulation of a value may lose by it, gamma size_u
// size_v being at most the sum of both. The 1 is more than sizes have beyond the norms of rounded
// vectors, twice gamma more than what is of second order and what binary64 rounds here.
__device__ __forceinline__ double accumulation(double gamma, double norm) {
    return gamma * (norm + 1) * (norm + 1);
}

// At least the root of x >= 0.
__device__ __forceinline__ double root_above(double x) {
    float root = __double2float_ru(x);
    asm("sqrt.approx.ftz.f32 %0, %0;" : "+f"(root));
    return static_cast<double>(root) * (1 + 0x1p-20) + 0x1p-60;
}

// A point's share under the root of QueryReach, of a vector v and its half norm, and what comes to
// it of the longest of several points: at least 2 (E_v + |v|^2 / 2 - half_norm), E_v what the
// accumulation of a may lose by v.
__device__ __forceinline__ double room_of_point(double gamma, double norm2, double half_norm) {
    return norm2 - 2 * half_norm + 4 * gamma * fabs(half_norm);
}
__device__ __forceinline__ double room_of_longest(double gamma, double norm2) {
    return 2 * accumulation(gamma, sqrt(norm2));
}

// What bounds the values of a query's vector u: that of a pair is within the threshold only if |u -
// v| is within a root (docs/exactness.md, section 12).
struct QueryReach {
    double nearest, room;  // |u|^2 less what the centre's value may lose by it, and the query's
                           // share under the root
};

__device__ __forceinline__ QueryReach reach_of(double gamma, double norm2, float threshold) {
    const double error = accumulation(gamma, sqrt(norm2)), t = static_cast<double>(threshold);
    // Nothing passes without a threshold.
    if (!(threshold >= -largest_f32))
        return {norm2, -static_cast<double>(__int_as_float(0x7f800000))};
    return {norm2 - 2 * error, norm2 + 2 * t + 2 * error + 4 * gamma * fabs(t)};
}

}  // namespace kith::gpu
