// Checks for memory of results and copies before it is allocated.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "kith/memory.h"

namespace kith {

// Calls require_memory() for rows x cols cells of cell_bytes bytes. Requests below 16 MiB are not
// checked.
template <class What>
void require_cells(std::int64_t rows, std::int64_t cols, std::int64_t cell_bytes,
                   const What& what) {
    constexpr std::int64_t least = 16 << 20;
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(rows, cols, &bytes) ||
        __builtin_mul_overflow(bytes, cell_bytes, &bytes))
        bytes = std::numeric_limits<std::int64_t>::max();
    if (bytes >= least) require_memory(bytes, what());
}

}  // namespace kith
