// A thread owns a row.
#include "gpu/filter/augmented.h"

#include <cuda_bf16.h>

#include "gpu/primitives/f32.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/launch.h"

namespace kith::gpu {

namespace {

// x = t[0] + t[1] + t[2], each x's next eight bits; infinite or NaN, it is the first. Bits of an x
// below 2^-118 may be lost, which lowers |x|.
struct Terms {
    float t[3];
};
__device__ Terms terms_of(float x) {
    const auto leading = [](float v) {
        return __int_as_float(__float_as_int(v) & static_cast<int>(0xffff0000u));
    };
    if (!(fabsf(x) <= largest_f32)) return {x, 0, 0};
    const float first = leading(x), rest = x - first, second = leading(rest);
    return {first, second, rest - second};
}

__device__ std::uint32_t pair_of(float x, float y) {
    // Exact: neither has more than bf16's bits.
    return __float_as_uint(x) >> 16 | (__float_as_uint(y) & 0xffff0000u);
}

__global__ void points_kernel(const float* half_norm, std::int64_t count, uint4* out) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i >= count) return;
    const Terms h = terms_of(half_norm[i]);
    out[i] = make_uint4(pair_of(h.t[0], h.t[1]), pair_of(h.t[2], 1), pair_of(1, 1), 0);
}

__global__ void queries_kernel(std::int64_t q, std::int64_t padded, float gamma,
                               const float* base_error, float* threshold, float* error,
                               uint4* out) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i >= padded) return;
    // Past q, and where a query has no threshold, nothing passes: the product with 1 is of
    // -largest_f32, subtracted.
    if (i >= q || !(threshold[i] >= -largest_f32)) {
        out[i] = make_uint4(0, pair_of(0, terms_of(-largest_f32).t[0]), 0, 0);
        return;
    }
    const float before = error[i], used = threshold[i];
    const float grown = fmaxf(before, __fmaf_ru(gamma, fabsf(used), base_error[i]));
    // Twice: so that points at one distance, whose k-th closes the list, are within what they were
    // before; and what sums of different thresholds round.
    float t = __fadd_ru(used, __fmaf_ru(2, __fadd_ru(grown, -before), 0x1p-20f * fabsf(used)));
    // One more, as the sum of a pair with a = T may be 0; and what terms_of cannot hold.
    t = nextafterf(__fadd_ru(t, 0x1p-100f), __int_as_float(0x7f800000));
    t = fminf(t, largest_f32);
    error[i] = grown;
    threshold[i] = t;
    const Terms parts = terms_of(t);
    out[i] =
        make_uint4(pair_of(-1, -1), pair_of(-1, parts.t[0]), pair_of(parts.t[1], parts.t[2]), 0);
}

}  // namespace

void augment_points(const float* half_norm, std::int64_t count, void* terms, cudaStream_t stream) {
    points_kernel<<<item_blocks(count), item_threads, 0, stream>>>(half_norm, count,
                                                                   static_cast<uint4*>(terms));
    check_launch("augment_points");
}

void augment_queries(std::int64_t q, double gamma, const float* base_error, float* threshold,
                     float* error, void* terms, cudaStream_t stream) {
    const std::int64_t padded = augmented_query_rows(q);
    // T grows by no more than gamma of itself.
    const auto share = static_cast<float>(gamma * (1 + 0x1p-10));
    queries_kernel<<<item_blocks(padded), item_threads, 0, stream>>>(
        q, padded, share, base_error, threshold, error, static_cast<uint4*>(terms));
    check_launch("augment_queries");
}

}  // namespace kith::gpu
