// Tuning numbers of composed paths. Plain host code: the planner's.
#pragma once

#include <cstdint>

namespace kith::gpu::tuning {

// Bytes of the matrix of distances with what its selector takes of each value, at most, but for one
// panel of queries: what a search takes anew from the device at each call costs more than launches
// for parts of the queries do. On an NVIDIA H200, 2026-11-23, n 2,097,152, d 16, k 16,
// register-tiled+bits: q 1,024, 8 GiB, 6.3 ms; q 2,048, 16 GiB, 28.0 ms. A sixteenth of a device's
// memory (runtime/tuning.h) stays with the library between calls. This size is reasoned: 256 rows
// of 2,097,152 values, two for each of the device's multiprocessors.
inline constexpr double most_matrix_bytes = 0x1p31;

}  // namespace kith::gpu::tuning
