// The selectors "bits-reads1" ... "bits-reads16": reads per thread and chunk without prefetch
// (Hanak 2023, Fig. 5.4).
#include "papers/select/bits/bits_policies.cuh"

namespace kith::gpu {

// variant: the reads.
void bits_reads(const SelectJob& job, int variant) {
    bits::launch_reads<Prefetch::none, 1, 2, 4, 8, 16>(job, variant);
}

}  // namespace kith::gpu
