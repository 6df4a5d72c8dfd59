// Sorting the entries of each row of a matrix by (key, id).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace kith::gpu {

// Entries in device memory: row r has counts[r * count_step] of them, from place r * stride on.
struct EntryRows {
    const std::uint64_t* keys;
    const std::uint32_t* ids;
    const std::int32_t* counts;
    std::int64_t count_step, rows, stride;
    std::int64_t most;  // upper bound of every row's count
};

// rows x k, dense.
struct SortedRows {
    std::uint64_t* keys;
    std::uint32_t* ids;
    std::int64_t k;
    std::int64_t* final_ids = nullptr;  // if not null: the ids again, -1 in place of ~0
};

// The k smallest entries of each row by (key, id), sorted. A row short of k ends in key ~0, id ~0.
void sort_rows(const EntryRows& entries, const SortedRows& out, cudaStream_t stream);

}  // namespace kith::gpu
