// Counts the bits of packed coordinates, which are bytes held exactly by binary64.
#pragma once

#include "metric/ops.h"

namespace kith::metric {

KITH_HD unsigned byte_of(double coordinate) {
    return static_cast<unsigned>(coordinate);
}

// The number of set bits of a byte.
KITH_HD double count_bits(unsigned v) {
    v = v - ((v >> 1) & 0x55u);
    v = (v & 0x33u) + ((v >> 2) & 0x33u);
    return static_cast<double>((v + (v >> 4)) & 0x0fu);
}

}  // namespace kith::metric
