// The order in which the leaves of a k-d tree follow each other: neighbours in space lie near each
// other.
#pragma once

#include "gpu/runtime/device_memory.h"

namespace kith::gpu {

// Coordinates that ranges of rows may be split along: the first ones.
inline constexpr std::int64_t most_split_axes = 64;

// Rows such that every aligned range of `leaf` times a power of two of them is on one side of its
// twin range, in the coordinate in which both together extend the most, as far as a sample of them
// tells, but for a few rows near the cut. Of equal values the smaller row comes first; those with a
// NaN come last. `values`: count x d, of which f32 tells enough apart where `narrow`; leaf: a power
// of two. Enqueues.
Buffer<std::uint32_t> kd_order(const double* values, const std::uint8_t* nan, std::int64_t count,
                               std::int64_t d, bool narrow, std::int64_t leaf, cudaStream_t stream);

// Numbers 0 ... in the order of their keys, of which the lowest `bits` bits count; equal keys in
// that of the numbers.
Buffer<std::uint32_t> sorted_numbers(const Buffer<std::uint32_t>& keys, int bits,
                                     cudaStream_t stream);

}  // namespace kith::gpu
