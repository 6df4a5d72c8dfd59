// The policies of "bits" that Hanak 2023, 5.3.3 compares, by name in selectors.def: k to 128, to
// 512 and to 2048 in one kernel each.
#pragma once

#include "gpu/select/bits/bits.cuh"

namespace kith::gpu::bits {

template <int threads, int reads, Prefetch prefetch>
void launch_policy(const SelectJob& job) {
    if (job.k <= 128) launch<128, threads, 512 / threads, reads, prefetch>({job});
    else if (job.k <= 512) launch<512, threads, 512 / threads, reads, prefetch>({job});
    else launch<2048, threads, 2048 / threads, reads, prefetch>({job});
}

// The one of `choices` that `reads` names.
template <Prefetch prefetch, int... choices>
void launch_reads(const SelectJob& job, int reads) {
    ((reads == choices ? launch_policy<256, choices, prefetch>(job) : void()), ...);
}

}  // namespace kith::gpu::bits
