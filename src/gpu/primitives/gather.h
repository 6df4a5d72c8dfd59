// Elements of a matrix taken by an index: selected values of rows, whole rows, ids.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "gpu/primitives/rows.h"

namespace kith::gpu {

// The values (of the rows' own type; null: none) and 64-bit ids of selected columns, k per row.
void take_values(const Rows& rows, const std::uint32_t* columns, std::int64_t row_count,
                 std::int64_t k, std::int64_t* ids, void* values, cudaStream_t stream);
// Dense row-major copies of rows index[0 .. count).
void gather_rows(const Rows& rows, const std::int64_t* index, std::int64_t count, std::int64_t d,
                 void* out, cudaStream_t stream);
// Dense rows of so many bytes, a multiple of 4, the other way: row i to row index[i] of `out`.
void scatter_dense(const void* rows, const std::int64_t* index, std::int64_t count,
                   std::int64_t bytes, void* out, cudaStream_t stream);
// out[i] = in[index[i]].
void gather_ids(const std::int64_t* in, const std::int64_t* index, std::int64_t count,
                std::int64_t* out, cudaStream_t stream);
// out[i] = first + i.
void count_up(std::int64_t* out, std::int64_t count, std::int64_t first, cudaStream_t stream);

}  // namespace kith::gpu
