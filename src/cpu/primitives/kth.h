// The k-th smallest of some values, for one instruction set.
#pragma once

#include <cstdint>

#include "cpu/simd/isa.h"

namespace kith::cpu {

// The k-th smallest of `count` values without NaN, 1 <= k <= count, which it may change. For some
// hundreds of values: it passes over them a dozen times, without a branch that depends on one.
using KthSmallest = float (*)(float* values, std::int64_t count, std::int64_t k);

KthSmallest kth_smallest(Isa isa);

}  // namespace kith::cpu
