// How many columns a projection of rows of so many halves may have, of so many rows that they are
// made of.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpu/points/tuning.h"

namespace kith::gpu {

// What is tried of such columns.
template <std::size_t size>
std::vector<int> columns_of(const std::array<int, size>& tried, std::int64_t width,
                            std::int64_t rows) {
    std::vector<int> out;
    for (const int columns : tried)
        if (2 * columns <= width && 4 * columns <= rows) out.push_back(columns);
    return out;
}
// The same with those of further stages.
inline std::vector<int> with_stages(const std::vector<int>& columns, std::int64_t width,
                                    std::int64_t rows) {
    std::vector<int> out = columns;
    for (int stage = 1; stage <= most_stages; ++stage)
        for (const int first : columns)
            if (const int all = tuning::columns_with_stages(first, stage, width);
                3 * all <= 2 * rows)
                out.push_back(all);
    std::ranges::sort(out);
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
}

}  // namespace kith::gpu
