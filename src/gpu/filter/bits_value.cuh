// The value of a pair of rows of bits (exact::counts_bits).
#pragma once

#include "exact/direct_form.h"
#include "gpu/primitives/f32.h"

namespace kith::gpu::direct {

// From what is in both rows and their sizes. The point's is +inf where that is its value.
__device__ __forceinline__ float bits_value(exact::Step step, float common, float query,
                                            float point) {
    const float both = query + point;
    if (!(fabsf(point) <= largest_f32)) return point;
    if (step == exact::Step::mismatched_bits) return fmaf(-2.0f, common, both);
    if (step == exact::Step::unmatched_bits) return point - common;
    const float one = fmaf(-2.0f, common, both),
                all = step == exact::Step::jaccard_bits ? both - common : both;
    return all == 0.0f ? 0.0f : __fdiv_rn(one, all);
}

}  // namespace kith::gpu::direct
