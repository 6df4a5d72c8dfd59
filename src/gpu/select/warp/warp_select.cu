// The selectors "warp-select" and "block-select" with the published lengths of the thread queues.
#include "gpu/select/warp/warp_select.cuh"

namespace kith::gpu {

// variant: 0 a warp per row, 1 a block per row.
void warp_select(const SelectJob& job, int variant) {
    const int warps_per_row = variant == 0 ? 1 : warp_queues::warps;
    if (job.k <= 32) warp_queues::launch<32, 2>(job, warps_per_row);
    else if (job.k <= 64) warp_queues::launch<64, 3>(job, warps_per_row);
    else if (job.k <= 128) warp_queues::launch<128, 3>(job, warps_per_row);
    else if (job.k <= 256) warp_queues::launch<256, 4>(job, warps_per_row);
    else if (job.k <= 512) warp_queues::launch<512, 8>(job, warps_per_row);
    else if (job.k <= 1024) warp_queues::launch<1024, 8>(job, warps_per_row);
    else warp_queues::launch<2048, 8>(job, warps_per_row);
}

}  // namespace kith::gpu
