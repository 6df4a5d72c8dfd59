// Rows of a range search, assembled from the parts that ranges of the points leave.
#pragma once

#include <vector>

#include "gpu/runtime/memory/device_memory.h"

namespace kith::gpu {

// The points within for some queries of a tile, in one run of the points: those of query i from
// offsets[i] on.
struct RadiusPart {
    std::int64_t q = 0;
    Buffer<std::uint64_t> keys;
    Buffer<std::uint32_t> ids;           // relative to `first`
    Buffer<std::int64_t> offsets;        // q + 1 values
    const std::int64_t* rows = nullptr;  // row in the tile per query; null: from first_row on
    std::int64_t first_row = 0;
    const std::uint8_t* state =
        nullptr;             // per query, or null: queries that are not answered are skipped
    std::int64_t first = 0;  // the first point of the run
};
// Appends a part to the rows. cursors[row]: entries placed in the row so far, which the call
// advances.
void place_part(const RadiusPart& part, const std::int64_t* offsets, std::int64_t* cursors,
                std::uint64_t* keys, std::int64_t* ids, cudaStream_t stream);
// Sorts each row by (key, id); ids are below `n`. The offsets are given on the host and on the
// device. Waits if some rows are too long for shared memory.
void sort_radius_rows(const std::vector<std::int64_t>& host_offsets, const std::int64_t* offsets,
                      std::int64_t n, const Buffer<std::uint64_t>& keys,
                      const Buffer<std::int64_t>& ids, cudaStream_t stream);

}  // namespace kith::gpu
