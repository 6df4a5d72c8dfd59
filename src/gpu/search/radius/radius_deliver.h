// Rows of a tile of a range search on the host, and their delivery to the caller.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/search/context.h"
#include "gpu/search/radius/radius_tile.h"

namespace kith::gpu {

// Rows of a tile, on the host.
struct TileRows {
    std::vector<std::int64_t> offsets, ids;
    std::vector<float> distances;
    std::vector<double> distances64;
};

// The offsets of a tile's rows, on both sides. Waits.
struct RowOffsets {
    Buffer<std::int64_t> on_device;
    std::vector<std::int64_t> on_host;
    RowOffsets(const std::int64_t* totals, std::int64_t q, cudaStream_t stream);
};

// Sorts rows by (key, id) and copies them to the host.
TileRows in_order(const SearchContext& context, const RadiusRequest& request, RowOffsets offsets,
                  const Buffer<std::uint64_t>& keys, const Buffer<std::int64_t>& ids);
// The rows of all parts that a tile has found.
TileRows rows_of(const SearchContext& context, const RadiusRequest& request, RadiusFound found);
// Hands rows to the caller, about list_bytes at a time. `first`: the query of the first row.
void hand_on(const RadiusRequest& request, std::int64_t first, const TileRows& rows);

}  // namespace kith::gpu
