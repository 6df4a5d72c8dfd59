// The selectors "bits-block128", "bits-block256", "bits-block512": one row by blocks of other
// sizes.
#include "papers/select/bits/bits_policies.cuh"

namespace kith::gpu {

// variant: the threads of a block.
void bits_blocks(const SelectJob& job, int variant) {
    constexpr Prefetch prefetch = Prefetch::ahead;
    if (variant == 128) bits::launch_policy<128, 8, prefetch>(job);
    else if (variant == 256) bits::launch_policy<256, 8, prefetch>(job);
    else bits::launch_policy<512, 8, prefetch>(job);
}

}  // namespace kith::gpu
