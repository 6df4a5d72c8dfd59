// WarpSelect and BlockSelect (warp_select.cuh) by the length of their thread queues.
#pragma once

#include "gpu/select/selector.h"

namespace kith::gpu::warp_queues {

inline constexpr int warps = 4;  // of a block

// warps_per_row: 1, WarpSelect, or `warps`, BlockSelect.
void short_queues(const SelectJob& job, int warps_per_row, int length);  // 2, 3, 4
void long_queues(const SelectJob& job, int warps_per_row, int length);   // 6, 8, 10

}  // namespace kith::gpu::warp_queues
