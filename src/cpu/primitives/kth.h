// The k-th smallest value of an array, for one instruction set.
#pragma once

#include <cstdint>

#include "cpu/simd/isa.h"

namespace kith::cpu {

// The k-th smallest of `count` values without NaN, 1 <= k <= count. It may change `values`. Meant
// for some hundreds of values: it makes about a dozen passes, without data-dependent branches.
using KthSmallest = float (*)(float* values, std::int64_t count, std::int64_t k);

KthSmallest kth_smallest(Isa isa);

}  // namespace kith::cpu
