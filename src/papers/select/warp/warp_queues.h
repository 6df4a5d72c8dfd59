// WarpSelect and BlockSelect (warp_select.cuh) by the length of their thread queues.
#pragma once

#include "gpu/select/selector.h"

namespace kith::gpu::warp_queues {

// `whole_block`: BlockSelect, else WarpSelect.
void short_queues(const SelectJob& job, bool whole_block, int length);  // 2, 3, 4
void long_queues(const SelectJob& job, bool whole_block, int length);   // 6, 8, 10

}  // namespace kith::gpu::warp_queues
