// The selectors "bits-reads1" ... "bits-reads16": reads per thread and chunk without prefetch (Hanak 2023, Fig. 5.4).
#include "gpu/select/bits_policies.cuh"

namespace kith::gpu {

// variant: the reads.
void bits_reads(const SelectJob& job, int variant) {
    constexpr Prefetch prefetch = Prefetch::none;
    if (variant == 1) bits::launch_policy<256, 1, prefetch>(job);
    else if (variant == 2) bits::launch_policy<256, 2, prefetch>(job);
    else if (variant == 4) bits::launch_policy<256, 4, prefetch>(job);
    else if (variant == 8) bits::launch_policy<256, 8, prefetch>(job);
    else bits::launch_policy<256, 16, prefetch>(job);
}

}  // namespace kith::gpu
