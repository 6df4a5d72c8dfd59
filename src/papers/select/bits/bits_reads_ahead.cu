// The selectors "bits-reads4-ahead" ... "bits-reads16-ahead": the next chunk read into registers
// before the vote on the last, where the thesis prefetches to L2.
#include "papers/select/bits/bits_policies.cuh"

namespace kith::gpu {

// variant: the reads.
void bits_reads_ahead(const SelectJob& job, int variant) {
    bits::launch_reads<Prefetch::ahead, 4, 8, 16>(job, variant);
}

}  // namespace kith::gpu
