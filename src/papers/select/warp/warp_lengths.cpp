// The selectors "warp-select-t2" ... "-t10" and "block-select-t2" ... "-t10": lengths of the thread
// queues other than the published ones (Hanak 2023, Fig. 5.5).
#include "papers/select/warp/warp_queues.h"

namespace kith::gpu {

namespace {

void launch(const SelectJob& job, bool whole_block, int length) {
    if (length <= 4) warp_queues::short_queues(job, whole_block, length);
    else warp_queues::long_queues(job, whole_block, length);
}

}  // namespace

// variant: the length.
void warp_select_length(const SelectJob& job, int variant) {
    launch(job, false, variant);
}
void block_select_length(const SelectJob& job, int variant) {
    launch(job, true, variant);
}

}  // namespace kith::gpu
