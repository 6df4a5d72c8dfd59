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
                     std::int64_t point_tile, cudaStream_t stream);

struct FilterOutcome {
    TileResult result;                 // void in the rows of `failed`
    std::vector<std::int64_t> failed;  // rows without a certificate
    std::vector<float> limits;         // for each of them, a limit that is certain, or +inf
    double candidates = 0;             // refined pairs
};

// `limits`: a certain limit for each query (host or device memory); null: they come from samples.
FilterOutcome filter_tile(const Chunk& chunk, const DeviceMetric& metric, const QueryTile& queries, std::int64_t k,
                          const Plan& plan, const float* limits, cudaStream_t stream);

}  // namespace kith::gpu
