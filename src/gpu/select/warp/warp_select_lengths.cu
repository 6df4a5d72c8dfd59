// The selectors "warp-select-t2" ... "block-select-t10": other lengths of the thread queues (Hanak 2023, Fig. 5.5).
#include "gpu/select/warp/warp_select.cuh"

namespace kith::gpu {

namespace {

void launch(const SelectJob& job, int length, int warps_per_row) {
    switch (length) {
        case 2:
            return warp_queues::launch_length<2>(job, warps_per_row);
        case 3:
            return warp_queues::launch_length<3>(job, warps_per_row);
        case 4:
            return warp_queues::launch_length<4>(job, warps_per_row);
        case 6:
            return warp_queues::launch_length<6>(job, warps_per_row);
        case 8:
            return warp_queues::launch_length<8>(job, warps_per_row);
        default:
            return warp_queues::launch_length<10>(job, warps_per_row);
    }
}

}  // namespace

// variant: the length.
void warp_select_length(const SelectJob& job, int variant) {
    launch(job, variant, 1);
}
void block_select_length(const SelectJob& job, int variant) {
    launch(job, variant, warp_queues::warps);
}

}  // namespace kith::gpu
