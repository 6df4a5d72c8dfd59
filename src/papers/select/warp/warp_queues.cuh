// WarpSelect and BlockSelect by the length of their thread queues (Hanak 2023, Fig. 5.5).
#pragma once

#include "gpu/select/warp/warp_select.cuh"

namespace kith::gpu::warp_queues {

// Launches thread queues of `length`, with the least capacity that holds k.
template <int length>
void launch_length(const SelectJob& job, int warps_per_row) {
    if (job.k <= 32) launch<32, length>(job, warps_per_row);
    else if (job.k <= 64) launch<64, length>(job, warps_per_row);
    else if (job.k <= 128) launch<128, length>(job, warps_per_row);
    else if (job.k <= 256) launch<256, length>(job, warps_per_row);
    else if (job.k <= 512) launch<512, length>(job, warps_per_row);
    else if (job.k <= 1024) launch<1024, length>(job, warps_per_row);
    else launch<2048, length>(job, warps_per_row);
}

}  // namespace kith::gpu::warp_queues
