// The selectors "warp-select" and "block-select" with the published lengths of the thread queues, and "-t2" ... "-t10"
// with others (Hanak 2023, Fig. 5.5).
#include "gpu/select/warp/warp_queues.h"

namespace kith::gpu {

namespace {

void launch(const SelectJob& job, int warps_per_row, int length) {
    if (length <= 4) warp_queues::short_queues(job, warps_per_row, length);
    else warp_queues::long_queues(job, warps_per_row, length);
}

}  // namespace

// variant: 0 a warp per row, 1 a block per row.
void warp_select(const SelectJob& job, int variant) {
    const int length = job.k <= 32 ? 2 : job.k <= 128 ? 3 : job.k <= 256 ? 4 : 8;
    launch(job, variant == 0 ? 1 : warp_queues::warps, length);
}

// variant: the length.
void warp_select_length(const SelectJob& job, int variant) {
    launch(job, 1, variant);
}
void block_select_length(const SelectJob& job, int variant) {
    launch(job, warp_queues::warps, variant);
}

}  // namespace kith::gpu
