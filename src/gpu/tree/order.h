// The order of points along a curve.
#pragma once

#include "gpu/runtime/device_memory.h"

namespace kith::gpu {

// Rows along Hilbert's curve through the ranks of their coordinates, those with a NaN last and equal rows as their
// numbers rise. `values`: count x d. Enqueues.
Buffer<std::uint32_t> curve_order(const double* values, const std::uint8_t* nan, std::int64_t count, std::int64_t d,
                                  cudaStream_t stream);

}  // namespace kith::gpu
