// Memory of results and copies, asked for before it is taken.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "kith/memory.h"

namespace kith {

// As require_memory(), of rows x cols cells of so many bytes. Fewer than 16 MiB are not worth the
// question.
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
