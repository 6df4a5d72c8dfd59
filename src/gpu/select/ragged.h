// Rows that a selector does not take directly: 16-bit floats, or different lengths.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "gpu/primitives/rows.h"

namespace kith::gpu {

// Copies the rows as dense rows of f64 (from f64) or f32, n columns each. From lengths[row] on
// (null: nowhere) they hold NaN. Every selector takes NaN last, and among them the row's own first.
void widen_rows(const Rows& rows, const std::int64_t* lengths, std::int64_t n, void* out,
                cudaStream_t stream);

// Completes a selection from such a copy, k ids per row. Ids within the row's length get their
// values, elements of the matrix' own type, in `out` (null: not wanted). The others are missing: id
// -1 and an infinity.
void finish_rows(const Rows& rows, const std::int64_t* lengths, std::int64_t n,
                 std::int64_t row_count, std::int64_t k, bool largest, std::int64_t* ids, void* out,
                 cudaStream_t stream);

}  // namespace kith::gpu
