// The selectors "bits-reads1-prefetch" ... "bits-reads16-prefetch": with the next chunk fetched to
// L2 (Hanak 2023, 4.1.5 and Fig. 5.4).
#include "papers/select/bits/bits_policies.cuh"

namespace kith::gpu {

// variant: the reads.
void bits_reads_prefetch(const SelectJob& job, int variant) {
    bits::launch_reads<Prefetch::l2, 1, 2, 4, 8, 16>(job, variant);
}

}  // namespace kith::gpu
