// Distance keys of pairs, for the scan and for the refinement of candidates.
#pragma once

#include "exact/canonical.h"
#include "exact/order.h"
#include "gpu/primitives/warp.cuh"

namespace kith::gpu {

// Of a pair that may not be returned: after all others.
KITH_HD std::uint64_t rank_key(double rank, bool eligible) {
    return eligible ? exact::Order<double>::key(rank) : exact::Order<double>::nan;
}

// A warp owns one pair at a time: `t` gives its d differences, params.constants is the transpose of
// VI.
template <class M, class Differences>
__device__ double whole_rank(const Differences& t, const metric::Params& params) {
    const int lane = threadIdx.x % 32;
    double a[1] = {0.0};
    for (std::int64_t i = lane; i < params.d; i += 32)
        a[0] = a[0] + M::whole_term(t, params.constants + i, i, params, params.d);
    warp_combine<exact::detail::Sum, 1>(a);
    return exact::ordered_rank(M::finish(a, nullptr, nullptr, params));
}

}  // namespace kith::gpu
