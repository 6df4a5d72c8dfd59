// The pruning bound (reach) of a query: how far away a point may be with a filter value within the
// query's threshold (docs/proofs/partition.md, lemma 1).
#pragma once

#include "gpu/primitives/f32.h"

namespace kith::gpu {

// The accumulation error that a query or point of that norm may cause. gamma size_u size_v is at
// most the sum of both. The 1 exceeds the difference between sizes and norms of rounded vectors.
// Twice gamma covers terms of second order and the binary64 rounding here.
__device__ __forceinline__ double accumulation(double gamma, double norm) {
    return gamma * (norm + 1) * (norm + 1);
}

// At least the square root of x >= 0.
__device__ __forceinline__ double root_above(double x) {
    float root = __double2float_ru(x);
    asm("sqrt.approx.ftz.f32 %0, %0;" : "+f"(root));
    return static_cast<double>(root) * (1 + 0x1p-20) + 0x1p-60;
}

// A point's share of the sum under the root of QueryReach, for a vector v and its half norm, and
// the share of the longest of several points. Together at least 2 (E_v + |v|^2 / 2 - half_norm);
// E_v is the accumulation error of a by v.
__device__ __forceinline__ double room_of_point(double gamma, double norm2, double half_norm) {
    return norm2 - 2 * half_norm + 4 * gamma * fabs(half_norm);
}
__device__ __forceinline__ double room_of_longest(double gamma, double norm2) {
    return 2 * accumulation(gamma, sqrt(norm2));
}

// Bounds for the values of a query's vector u. A pair's value is within the threshold only if |u -
// v| is within a root (docs/proofs/partition.md, lemma 1).
struct QueryReach {
    double nearest, room;  // |u|^2 less the accumulation error of the centre's value by it; the
                           // query's share under the root
};

__device__ __forceinline__ QueryReach reach_of(double gamma, double norm2, float threshold) {
    const double error = accumulation(gamma, sqrt(norm2)), t = static_cast<double>(threshold);
    // Without a threshold no point is within reach.
    if (!(threshold >= -largest_f32))
        return {norm2, -static_cast<double>(__int_as_float(0x7f800000))};
    return {norm2 - 2 * error, norm2 + 2 * t + 2 * error + 4 * gamma * fabs(t)};
}

}  // namespace kith::gpu
