// WarpSelect and BlockSelect with thread queues of 2, 3 and 4.
#include "papers/select/warp/warp_queues.cuh"
#include "papers/select/warp/warp_queues.h"

namespace kith::gpu::warp_queues {

void short_queues(const SelectJob& job, bool whole_block, int length) {
    if (length == 2) launch_length<2>(job, whole_block ? warps : 1);
    else if (length == 3) launch_length<3>(job, whole_block ? warps : 1);
    else launch_length<4>(job, whole_block ? warps : 1);
}

}  // namespace kith::gpu::warp_queues
