// The selectors "warp-select" and "block-select" with the published lengths of the thread queues.
#include "gpu/select/warp/warp_select.cuh"

namespace kith::gpu {

// variant: 0 a warp per row, 1 a block per row.
void warp_select(const SelectJob& job, int variant) {
    using warp_queues::launch;
    const int warps_per_row = variant == 0 ? 1 : warp_queues::warps;
    if (job.k <= 32) launch<32, 2>(job, warps_per_row);
    else if (job.k <= 64) launch<64, 3>(job, warps_per_row);
    else if (job.k <= 128) launch<128, 3>(job, warps_per_row);
    else if (job.k <= 256) launch<256, 4>(job, warps_per_row);
    else if (job.k <= 512) launch<512, 8>(job, warps_per_row);
    else if (job.k <= 1024) launch<1024, 8>(job, warps_per_row);
    else launch<2048, 8>(job, warps_per_row);
}

}  // namespace kith::gpu
