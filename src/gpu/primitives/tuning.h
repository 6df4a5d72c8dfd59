// Tuning numbers of the primitives. Plain host code: the planner and the run share them.
//
// The searches of docs/performance.md ran with these (one NVIDIA H100 80GB HBM3, 2026-11-21); others have not been
// recorded.
#pragma once

#include <cstdint>

namespace kith::gpu::tuning {

// Entries of 12 bytes that one block sorts in shared memory; longer rows are sorted by CUB, out of place, twice.
inline constexpr std::int64_t sort_in_shared = 8192;

}  // namespace kith::gpu::tuning
