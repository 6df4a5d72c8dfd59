// Lists of neighbours on the device: merged over chunks, with the caller's ids.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace kith::gpu {

// Sorted neighbours on the device, k per row: ordered keys of canonical distances (exact/order.h;
// all ones: missing) and ids.
struct Lists {
    std::uint64_t* keys = nullptr;
    std::int64_t* ids = nullptr;
};

// lists[row] = the k smallest by (key, id) of lists[row] and the k sorted (keys, ids + first_id) of
// a chunk. `scratch` is as large as `lists`; rows x k each.
void merge_rows(Lists lists, const std::uint64_t* keys, const std::uint32_t* ids,
                std::int64_t first_id, std::int64_t rows, std::int64_t k, Lists scratch,
                cudaStream_t stream);
// lists = (keys, ids + first_id). Missing entries get id -1.
void assign_rows(Lists lists, const std::uint64_t* keys, const std::uint32_t* ids,
                 std::int64_t first_id, std::int64_t rows, std::int64_t k, cudaStream_t stream);

}  // namespace kith::gpu
