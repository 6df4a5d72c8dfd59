// Products of a query's row of halves with rows of points that a warp reads together.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

namespace kith::gpu {

// The sum of the products of eight halves.
__device__ __forceinline__ float products(const uint4& a, const uint4& b, float sum) {
    const auto* const x = reinterpret_cast<const __half2*>(&a);
    const auto* const y = reinterpret_cast<const __half2*>(&b);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const float2 u = __half22float2(x[i]), v = __half22float2(y[i]);
        sum = __fmaf_rn(u.x, v.x, sum);
        sum = __fmaf_rn(u.y, v.y, sum);
    }
    return sum;
}

// The sum over the warp, in f32: its roundings are fewer than those that filter_gamma() pays for.
__device__ __forceinline__ float lane_sum(float x) {
#pragma unroll
    for (int half = 16; half > 0; half /= 2) x += __shfl_xor_sync(0xffffffffu, x, half);
    return x;
}

// Eights of a row that nothing writes while it is read.
struct ReadOnlyRow {
    const uint4* eights;
    __device__ __forceinline__ uint4 operator[](int i) const { return __ldg(eights + i); }
};

// Of `batch` rows of points with one of a query, rows of `words` times eight halves: lane i < batch
// ends with that of point[i]. query[i]: the i-th eight of the query, from wherever it is.
template <int batch, class Query>
__device__ __forceinline__ float row_products(const Query& query, const void* points,
                                              const std::uint32_t (&point)[batch], int words) {
    const auto lane = static_cast<int>(threadIdx.x % 32);
    const uint4* row[batch];
    float sums[batch] = {};
#pragma unroll
    for (int j = 0; j < batch; ++j)
        row[j] = static_cast<const uint4*>(points) + static_cast<std::int64_t>(point[j]) * words;
#pragma unroll 2
    for (int i = lane; i < words; i += 32) {
        const uint4 a = query[i];
        uint4 b[batch];
#pragma unroll
        for (int j = 0; j < batch; ++j) b[j] = __ldg(row[j] + i);
#pragma unroll
        for (int j = 0; j < batch; ++j) sums[j] = products(a, b[j], sums[j]);
    }
    float own = 0;
#pragma unroll
    for (int j = 0; j < batch; ++j) {
        const float sum = lane_sum(sums[j]);
        if (lane == j) own = sum;
    }
    return own;
}

}  // namespace kith::gpu
