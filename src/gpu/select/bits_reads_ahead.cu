// The selectors "bits-reads4-ahead" ... "bits-reads16-ahead": the next chunk read into registers before the vote on the
// last, where the thesis prefetches to L2.
#include "gpu/select/bits_policies.cuh"

namespace kith::gpu {

// variant: the reads.
void bits_reads_ahead(const SelectJob& job, int variant) {
    constexpr Prefetch prefetch = Prefetch::ahead;
    if (variant == 4) bits::launch_policy<256, 4, prefetch>(job);
    else if (variant == 8) bits::launch_policy<256, 8, prefetch>(job);
    else bits::launch_policy<256, 16, prefetch>(job);
}

}  // namespace kith::gpu
