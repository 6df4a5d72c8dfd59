// Rows that a selector does not take as they are: of 16-bit floats, or of different lengths.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "gpu/primitives/rows.h"

namespace kith::gpu {

// The rows as dense rows of f64 (from f64) or f32, n columns each. From lengths[row] on (null:
// nowhere) they hold NaN, which every selector takes last, and of equal ones those of the row
// itself first.
void widen_rows(const Rows& rows, const std::int64_t* lengths, std::int64_t n, void* out,
                cudaStream_t stream);

// What a selection from such a copy has found, k ids per row: those within the row's length get
// their values, elements of the matrix' own type, into `out` (null: none is wanted); the others are
// missing: id -1 and an infinity.
void finish_rows(const Rows& rows, const std::int64_t* lengths, std::int64_t n,
                 std::int64_t row_count, std::int64_t k, bool largest, std::int64_t* ids, void* out,
                 cudaStream_t stream);

}  // namespace kith::gpu
