// The two ways through a chunk of points for a tile of queries: the plain canonical scan, and filter, refine, certify.
#pragma once

#include "exact/progress.h"
#include "gpu/points.h"
#include "kith/plan.h"

namespace kith::gpu {

// A tile of queries on the device. self: the id that each leaves out (relative to the chunk), or null.
struct QueryTile {
    PreparedRows rows;
    const std::int64_t* self = nullptr;
};

// The neighbours of a tile in one chunk: q x k keys and chunk-relative ids, each row sorted.
struct TileResult {
    Buffer<std::uint64_t> keys;
    Buffer<std::uint32_t> ids;
};

TileResult scan_tile(const Chunk& chunk, const DeviceMetric& metric, const QueryTile& queries, std::int64_t k,
                     const Plan& plan, cudaStream_t stream);

// `failed` receives the rows that could not be certified (their result is void); `candidates` grows by the refined
// pairs.
TileResult filter_tile(const Chunk& chunk, const DeviceMetric& metric, const QueryTile& queries, std::int64_t k,
                       const Plan& plan, std::vector<std::int64_t>& failed, double& candidates, cudaStream_t stream);

}  // namespace kith::gpu
