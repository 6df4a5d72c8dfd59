// Threshold selection as the search streams it: buffers, scans of row slices, the sorted result.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "gpu/runtime/device_memory.h"

namespace kith::gpu {

// What a selection keeps between scans of slices of its rows.
struct SelectState {
    std::int64_t rows = 0, k = 0;
    std::int32_t capacity = 0, slices = 1;
    int key_bytes = 8;
    Buffer<char> keys;  // key_bytes each
    Buffer<std::uint32_t> ids, threshold_id;
    Buffer<char> threshold_key;
    Buffer<std::int32_t> counts;

    // All rows empty. cols: the row length, which bounds how many slices make sense.
    SelectState(std::int64_t rows, std::int64_t k, std::int64_t cols, int key_bytes,
                cudaStream_t stream);
    // Entries of a row after finish().
    std::int64_t stride() const { return static_cast<std::int64_t>(capacity) * slices; }
};

// Streams a row-major tile of values, `ld` apart, whose column 0 has id first_id.
void scan_keys(SelectState& state, const std::uint64_t* tile, std::int64_t ld, std::int64_t cols,
               std::int64_t first_id, cudaStream_t stream);
void scan_f32(SelectState& state, const float* tile, std::int64_t ld, std::int64_t cols,
              bool largest, cudaStream_t stream);
void scan_f64(SelectState& state, const double* tile, std::int64_t ld, std::int64_t cols,
              bool largest, cudaStream_t stream);
void finish(SelectState& state, cudaStream_t stream);

// u32 keys as u64.
void widen(const std::uint32_t* keys, std::uint64_t* out, std::int64_t count, cudaStream_t stream);

}  // namespace kith::gpu
