// The selector "bits" (Hanak 2023, 4.1): its policy for every k.
#include "gpu/select/bits/bits.cuh"

namespace kith::gpu {

namespace {

constexpr Prefetch prefetch = Prefetch::ahead;

}  // namespace

// A buffer of 512 serves small k: larger than k it is merged less often, and a merge of 512 is
// cheap. Eight reads leave the registers that a merge of 2048 needs.
void bits_scan(const BitsScan& scan) {
    const std::int64_t k = scan.job.k;
    if (k <= 32) bits::launch<32, 256, 2, 16, prefetch>(scan);
    else if (k <= 64) bits::launch<64, 256, 2, 16, prefetch>(scan);
    else if (k <= 128) bits::launch<128, 256, 2, 16, prefetch>(scan);
    else if (k <= 256) bits::launch<256, 256, 2, 16, prefetch>(scan);
    else if (k <= 512) bits::launch<512, 256, 2, 16, prefetch>(scan);
    else if (k <= 1024) bits::launch<1024, 256, 4, 16, prefetch>(scan);
    else bits::launch<2048, 256, 8, 8, prefetch>(scan);
}

void bits_select(const SelectJob& job, int) {
    bits_scan({job});
}

}  // namespace kith::gpu
