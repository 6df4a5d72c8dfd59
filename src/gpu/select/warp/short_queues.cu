// WarpSelect and BlockSelect with thread queues of 2, 3 and 4.
#include "gpu/select/warp/warp_select.cuh"

namespace kith::gpu::warp_queues {

void short_queues(const SelectJob& job, int warps_per_row, int length) {
    if (length == 2) launch_length<2>(job, warps_per_row);
    else if (length == 3) launch_length<3>(job, warps_per_row);
    else launch_length<4>(job, warps_per_row);
}

}  // namespace kith::gpu::warp_queues
