// WarpSelect and BlockSelect with thread queues of 6, 8 and 10.
#include "gpu/select/warp/warp_select.cuh"

namespace kith::gpu::warp_queues {

void long_queues(const SelectJob& job, int warps_per_row, int length) {
    if (length == 6) launch_length<6>(job, warps_per_row);
    else if (length == 8) launch_length<8>(job, warps_per_row);
    else launch_length<10>(job, warps_per_row);
}

}  // namespace kith::gpu::warp_queues
