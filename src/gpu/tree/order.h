// The order of points in the leaves of a k-d tree: neighbours in space are near each other.
#pragma once

#include "gpu/runtime/memory/device_memory.h"

namespace kith::gpu {

// Ranges of rows may be split along the first of their coordinates only.
inline constexpr std::int64_t most_split_axes = 64;

// Rows in k-d tree order. Every aligned range of `leaf` times a power of two rows is on one side of
// its twin range, in the coordinate in which both together extend the most. That coordinate is
// estimated from a sample, and a few rows near the cut may be on the wrong side. Equal values are
// in the order of rows; rows with a NaN come last. `values`: count x d; `narrow`: f32 tells them
// apart well enough; `leaf`: a power of two. Enqueues.
Buffer<std::uint32_t> kd_order(const double* values, const std::uint8_t* nan, std::int64_t count,
                               std::int64_t d, bool narrow, std::int64_t leaf, cudaStream_t stream);

// Numbers 0 ... in the order of their keys, of which the lowest `bits` bits count. Numbers of equal
// keys stay in order.
Buffer<std::uint32_t> sorted_numbers(const Buffer<std::uint32_t>& keys, int bits,
                                     cudaStream_t stream);

}  // namespace kith::gpu
