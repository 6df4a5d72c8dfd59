// Small kernels on lists of neighbours: merging, scattering, the caller's ids, gathering rows.
#pragma once

#include <cuda_runtime.h>

#include "gpu/rows.h"

namespace kith::gpu {

// Sorted neighbours on the device, k per row: ordered keys of ranks (all ones: missing) and ids.
struct Lists {
    std::uint64_t* keys = nullptr;
    std::int64_t* ids = nullptr;
};

// lists[row] = the k smallest by (key, id) of lists[row] and the k sorted (keys, ids + first_id) of a chunk. `scratch`
// is as large as `lists`; rows x k each.
void merge_rows(Lists lists, const std::uint64_t* keys, const std::uint32_t* ids, std::int64_t first_id,
                std::int64_t rows, std::int64_t k, Lists scratch, cudaStream_t stream);
// lists = (keys, ids + first_id). Missing entries get id -1.
void place_rows(Lists lists, const std::uint64_t* keys, const std::uint32_t* ids, std::int64_t first_id,
                std::int64_t rows, std::int64_t k, cudaStream_t stream);
// Rows `from` to rows to[i] of (keys, ids), k each.
void scatter_rows(std::uint64_t* keys, std::uint32_t* ids, const std::uint64_t* from_keys,
                  const std::uint32_t* from_ids, const std::int64_t* to, std::int64_t rows, std::int64_t k,
                  cudaStream_t stream);
// The values (of the rows' own type; null: none) and 64-bit ids of selected columns, k per row.
void take_values(const Rows& rows, const std::uint32_t* columns, std::int64_t row_count, std::int64_t k,
                 std::int64_t* ids, void* values, cudaStream_t stream);
// Dense row-major copies of rows index[0 .. count).
void gather_rows(const Rows& rows, const std::int64_t* index, std::int64_t count, std::int64_t d, void* out,
                 cudaStream_t stream);
// out[i] = in[index[i]].
void gather_ids(const std::int64_t* in, const std::int64_t* index, std::int64_t count, std::int64_t* out,
                cudaStream_t stream);
// out[i] = first + i.
void count_up(std::int64_t* out, std::int64_t count, std::int64_t first, cudaStream_t stream);

}  // namespace kith::gpu
