// WarpSelect and BlockSelect with thread queues of 6, 8 and 10.
#include "papers/select/warp/warp_queues.cuh"
#include "papers/select/warp/warp_queues.h"

namespace kith::gpu::warp_queues {

void long_queues(const SelectJob& job, bool whole_block, int length) {
    if (length == 6) launch_length<6>(job, whole_block ? warps : 1);
    else if (length == 8) launch_length<8>(job, whole_block ? warps : 1);
    else launch_length<10>(job, whole_block ? warps : 1);
}

}  // namespace kith::gpu::warp_queues
