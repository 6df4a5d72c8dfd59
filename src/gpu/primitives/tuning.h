// Tuning numbers of the primitives. Plain host code: the planner and the run share them.
//
// The searches of docs/performance.md ran with these (one NVIDIA H100 80GB HBM3, 2026-11-21);
// others have not been recorded.
#pragma once

#include <cstdint>

namespace kith::gpu::tuning {

// Entries of 12 bytes that one block sorts in shared memory; longer rows are sorted by CUB, out of
// place, twice.
inline constexpr std::int64_t sort_in_shared = 8192;
// Whether a warp takes a row: it has 32 or 128 entries in its registers, and passes over the others
// one after the other. On an NVIDIA H100, 2026-11-24, blocks took 296 us for 65,536 rows of some 12
// entries (k 10), 222 for 8,192 of 1,049.
constexpr bool sorts_by_warps(std::int64_t rows, std::int64_t most, std::int64_t k) {
    return k <= 128 && (most <= 1024 || rows >= 1024);
}

}  // namespace kith::gpu::tuning
