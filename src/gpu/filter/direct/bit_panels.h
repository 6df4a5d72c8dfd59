// The layout of bit rows for the direct filter: panels of filter_tile_queries rows, four words of
// each row, then the next four, and so on. Matrix units read it directly: eight rows x 16 bytes are
// one of their core matrices.
#pragma once

#include "gpu/filter/direct/direct.h"

namespace kith::gpu {

// Words of one row that lie together.
inline constexpr std::int64_t bits_run = 4;

// Words per row, with zeros past the last bit.
inline std::int64_t bits_width(const exact::DirectForm& form, std::int64_t d) {
    return (direct_width(form, d) + bits_run - 1) / bits_run * bits_run;
}

// The index of word i of a row.
KITH_HD std::int64_t bits_place(std::int64_t row, std::int64_t i, std::int64_t width) {
    const std::int64_t panel = row / filter_tile_queries * width + i / bits_run * bits_run;
    return panel * filter_tile_queries + row % filter_tile_queries * bits_run + i % bits_run;
}

}  // namespace kith::gpu
