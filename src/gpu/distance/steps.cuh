// What a word of query and point adds to a pair's sum, in f32, and what its value is.
#pragma once

#include "gpu/distance/distance.h"
#include "gpu/filter/direct.h"
#include "kith/error.h"

namespace kith::gpu::distance {

struct Squares {
    __device__ static float add(float sum, float q, float x) {
        const float difference = q - x;
        return fmaf(difference, difference, sum);
    }
};
struct Cityblock {
    __device__ static float add(float sum, float q, float x) { return sum + fabsf(q - x); }
};
struct Chebyshev {
    __device__ static float add(float largest, float q, float x) { return fmaxf(largest, fabsf(q - x)); }
};

// A sum that overflowed stays below the +inf of points with a NaN; the -inf of one that the bound does not cover holds
// whatever its words are, NaN included.
__device__ __forceinline__ float value_of(float sum, float half_norm) {
    return fminf(sum, 3.402823466e38f) + half_norm;
}

// Calls launch.operator()<Step>() for a job's step.
template <class Launch>
void with_step(exact::Step step, Launch launch) {
    if (step == exact::Step::squares) launch.template operator()<Squares>();
    else if (step == exact::Step::cityblock) launch.template operator()<Cityblock>();
    else if (step == exact::Step::chebyshev) launch.template operator()<Chebyshev>();
    else throw Error(ErrorCode::invalid_argument, "distances: serve squares, cityblock and chebyshev");
}

}  // namespace kith::gpu::distance
