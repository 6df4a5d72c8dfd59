// Points cut into shards for the tests: at random borders, views of the rows between them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "adversarial.h"
#include "kith/types.h"

namespace shard_cuts {

inline kith::MatrixView rows_of(const kith::MatrixView& view, std::int64_t first, std::int64_t count) {
    const bool by_rows = view.layout == kith::Layout::row_major;
    const std::int64_t offset =
        first * (by_rows ? view.stride : 1) * static_cast<std::int64_t>(kith::size_of(view.type));
    kith::MatrixView part = view;
    part.data = static_cast<const char*>(view.data) + offset;
    part.rows = count;
    return part;
}

// Up to `most` shards with random borders.
inline std::vector<std::int64_t> borders(std::int64_t rows, std::int64_t most, adversarial::Random& random) {
    std::vector<std::int64_t> all{0, rows};
    for (std::int64_t i = 1; i < most; ++i) all.push_back(static_cast<std::int64_t>(random.below(rows)));
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
}

}  // namespace shard_cuts
