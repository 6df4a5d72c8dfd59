// How a thread that owns several pairs writes their values.
#pragma once

#include "gpu/distance/steps.cuh"

namespace kith::gpu::distance {

// The values of a query with the four points from `point` on, a multiple of four; past the last one none. `query`: from
// DistanceJob::first_query on, perhaps none of the job's.
__device__ __forceinline__ void store_four(const DistanceJob& job, std::int64_t query, std::int64_t point,
                                           const float* sums) {
    if (query < 0 || query >= job.q) return;
    float* const to = job.values + query * job.n + point;
    // Where rows are whole fours they are aligned as well.
    if (job.n % 4 == 0 && point < job.n) {
        const float4 h = *reinterpret_cast<const float4*>(job.half_norm + point);
        *reinterpret_cast<float4*>(to) =
            make_float4(value_of(sums[0], h.x), value_of(sums[1], h.y), value_of(sums[2], h.z), value_of(sums[3], h.w));
        return;
    }
#pragma unroll
    for (int i = 0; i < 4; ++i)
        if (point + i < job.n) to[i] = value_of(sums[i], job.half_norm[point + i]);
}

// Four words of shared memory.
__device__ __forceinline__ void load_four(float* to, const float* from) {
    const float4 four = *reinterpret_cast<const float4*>(from);
    to[0] = four.x;
    to[1] = four.y;
    to[2] = four.z;
    to[3] = four.w;
}

}  // namespace kith::gpu::distance
