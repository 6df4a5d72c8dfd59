// Rows of a triangle of blocks dealt to D devices in about equal shares: row i belongs to device j
// if i mod 2 D is j or 2 D - j - 1 (Kato and Hosino 2009, Fig. 3).
#pragma once

#include <cstdint>

#include "metric/portable.h"

namespace kith::exact {

// The t-th row of device `part` of `parts`.
KITH_HD std::int64_t dealt_row(std::int64_t t, int part, int parts) {
    return t / 2 * 2 * parts + (t % 2 == 0 ? part : 2 * parts - 1 - part);
}

// The number of its rows, of `rows` in all.
KITH_HD std::int64_t dealt_rows(std::int64_t rows, int part, int parts) {
    const std::int64_t rest = rows % (2 * parts);
    return rows / (2 * parts) * 2 + (rest > part ? 1 : 0) + (rest > 2 * parts - 1 - part ? 1 : 0);
}

// True if row i is one of them.
KITH_HD bool is_dealt(std::int64_t i, int part, int parts) {
    const std::int64_t at = i % (2 * parts);
    return at == part || at == 2 * parts - 1 - part;
}

}  // namespace kith::exact
