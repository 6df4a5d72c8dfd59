// How a thread that owns several pairs reads their words, and writes their values.
#pragma once

#include "papers/distance/steps.cuh"

namespace kith::gpu::distance {

// The values of a query with the four points from `point` on, a multiple of four; past the last one
// none. `query`: from DistanceJob::first_query on, perhaps none of the job's.
template <class Step>
__device__ __forceinline__ void store_four(const DistanceJob& job, std::int64_t query,
                                           std::int64_t point, const typename Step::Acc* sums) {
    if (query < 0 || query >= job.q) return;
    const float size = size_of_query<Step>(job, query);
    float* const to = job.values + query * job.n + point;
    const auto value = [&](int i, float half_norm) {
        return pair_value<Step>(job.step, sums[i], size, half_norm);
    };
    // Where rows are whole fours they are aligned as well.
    if (job.n % 4 == 0 && point < job.n) {
        const float4 h = *reinterpret_cast<const float4*>(job.half_norm + point);
        *reinterpret_cast<float4*>(to) =
            make_float4(value(0, h.x), value(1, h.y), value(2, h.z), value(3, h.w));
        return;
    }
#pragma unroll
    for (int i = 0; i < 4; ++i)
        if (point + i < job.n) to[i] = value(i, job.half_norm[point + i]);
}

// Four words of shared memory.
__device__ __forceinline__ void load_four(float* to, const float* from) {
    const float4 four = *reinterpret_cast<const float4*>(from);
    to[0] = four.x;
    to[1] = four.y;
    to[2] = four.z;
    to[3] = four.w;
}

// Which four words of a panel's slice lie side by side, number i of these: word `word` of four rows
// from `row` on; of bits four words of row `row`. The slice has `rows` rows.
struct FourWords {
    int word, row;
};
template <class Step>
__device__ __forceinline__ FourWords four_words(int i, int rows) {
    if constexpr (counts_bits<Step>) return {i / rows * static_cast<int>(bits_run), i % rows};
    else return {i / (rows / 4), i % (rows / 4) * 4};
}
// Where they lie in the panel, and how they come to a matrix [word][row] of `rows` rows.
template <class Step>
__device__ __forceinline__ int place_in_panel(FourWords at) {
    constexpr int panel = static_cast<int>(filter_tile_queries);
    return at.word * panel + at.row * (counts_bits<Step> ? static_cast<int>(bits_run) : 1);
}
template <class Step>
__device__ __forceinline__ void keep_four(float* matrix, FourWords at, int rows, float4 four) {
    float* const to = matrix + at.word * rows + at.row;
    if constexpr (counts_bits<Step>) {
        to[0] = four.x;
        to[rows] = four.y;
        to[2 * rows] = four.z;
        to[3 * rows] = four.w;
    } else {
        *reinterpret_cast<float4*>(to) = four;
    }
}

}  // namespace kith::gpu::distance
