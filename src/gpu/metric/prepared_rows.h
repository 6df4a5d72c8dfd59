// Parts of prepared rows.
#pragma once

#include "gpu/metric/kernels.h"

namespace kith::gpu {

// Rows [first, first + count). Metrics without auxiliary values have none.
inline PreparedRows slice(const PreparedRows& r, std::int64_t first, std::int64_t count) {
    return {slice(r.rows, first, count), r.aux ? r.aux + first * metric::max_aux : nullptr,
            r.nan + first};
}

}  // namespace kith::gpu
