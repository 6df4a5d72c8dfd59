// The steps of a job, and the value of a pair's sum.
#pragma once

#include "gpu/distance/distance.h"
#include "gpu/filter/direct.h"
#include "gpu/filter/norm_steps.cuh"
#include "kith/error.h"

namespace kith::gpu::distance {

// A sum that overflowed stays below the +inf of points with a NaN; the -inf of one that the bound does not cover holds
// whatever its words are, NaN included.
__device__ __forceinline__ float value_of(float sum, float half_norm) {
    return fminf(sum, 3.402823466e38f) + half_norm;
}

// Calls launch.operator()<Step>() for a job's step.
template <class Launch>
void with_step(exact::Step step, Launch launch) {
    using exact::Step;
    if (step == Step::squares) launch.template operator()<steps::Squares>();
    else if (step == Step::cityblock) launch.template operator()<steps::Cityblock>();
    else if (step == Step::chebyshev) launch.template operator()<steps::Chebyshev>();
    else if (step == Step::cubes) launch.template operator()<steps::Cubes>();
    else if (step == Step::fourths) launch.template operator()<steps::Fourths>();
    else if (step == Step::powers) launch.template operator()<steps::Powers>();
    else throw Error(ErrorCode::invalid_argument, "distances: serve powers of differences, and their maximum");
}

}  // namespace kith::gpu::distance
