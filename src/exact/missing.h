// The value of a missing neighbour: the infinity that comes last.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "kith/types.h"
#include "metric/ops.h"

namespace kith::exact {

// +infinity where the smallest are wanted, -infinity where the largest are. T: float, double,
// float16 or bfloat16.
template <class T>
KITH_HD constexpr T missing_value(bool largest) {
    if constexpr (std::is_same_v<T, float16>)
        return {static_cast<std::uint16_t>(largest ? 0xfc00 : 0x7c00)};
    else if constexpr (std::is_same_v<T, bfloat16>)
        return {static_cast<std::uint16_t>(largest ? 0xff80 : 0x7f80)};
    else return largest ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::infinity();
}

}  // namespace kith::exact
