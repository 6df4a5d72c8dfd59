// How rows of bits lie for the direct filter: in panels of filter_tile_queries, four words of each
// of its rows, then the next four, and so on. Matrix units take that as it is: eight rows x 16
// bytes are one of their core matrices.
#pragma once

#include "gpu/filter/direct.h"

namespace kith::gpu {

// Words that lie together, of one row.
inline constexpr std::int64_t bits_run = 4;

// Words per row, zeros beyond the last bit.
inline std::int64_t bits_width(const exact::DirectForm& form, std::int64_t d) {
    return (direct_width(form, d) + bits_run - 1) / bits_run * bits_run;
}

// Where word i of a row lies.
KITH_HD std::int64_t bits_place(std::int64_t row, std::int64_t i, std::int64_t width) {
    const std::int64_t panel = row / filter_tile_queries * width + i / bits_run * bits_run;
    return panel * filter_tile_queries + row % filter_tile_queries * bits_run + i % bits_run;
}

}  // namespace kith::gpu
