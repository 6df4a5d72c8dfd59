// Rows of a search by radius, made of the parts that ranges of the points leave.
#pragma once

#include <vector>

#include "gpu/runtime/device_memory.h"

namespace kith::gpu {

// Of some queries of a tile: points of one run, those of query i from offsets[i] on.
struct RadiusPart {
    std::int64_t q = 0;
    Buffer<std::uint64_t> keys;
    Buffer<std::uint32_t> ids;           // relative to `first`
    Buffer<std::int64_t> offsets;        // q + 1
    const std::int64_t* rows = nullptr;  // of the tile, per query; null: from `first_row` on
    std::int64_t first_row = 0;
    const std::uint8_t* state =
        nullptr;             // per query: those that are not answered are left out; or null
    std::int64_t first = 0;  // of the points
};
// A part behind what its rows hold: cursors[row] entries.
void place_part(const RadiusPart& part, const std::int64_t* offsets, std::int64_t* cursors,
                std::uint64_t* keys, std::int64_t* ids, cudaStream_t stream);
// Sorts each row by (key, id): ids below `n`. The offsets, on the host and on the device.
void sort_radius_rows(const std::vector<std::int64_t>& host_offsets, const std::int64_t* offsets,
                      std::int64_t n, const Buffer<std::uint64_t>& keys,
                      const Buffer<std::int64_t>& ids, cudaStream_t stream);

}  // namespace kith::gpu
