// Values as selectors compare them: (value, index) packed into one integer, so that ties break by
// the smaller index.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "exact/order.h"

namespace kith::gpu {

// Ascending order of Packed is the order of select(): the key of the value, then the index.
using Packed = std::uint64_t;
// After every value, NaN included.
inline constexpr Packed packed_end = ~Packed{0};

__device__ __forceinline__ Packed pack(float v, std::uint32_t index, bool largest) {
    return static_cast<Packed>(exact::Order<float>::key(v, largest)) << 32 | index;
}
__device__ __forceinline__ std::uint32_t index_of(Packed p) {
    return static_cast<std::uint32_t>(p);
}

}  // namespace kith::gpu
