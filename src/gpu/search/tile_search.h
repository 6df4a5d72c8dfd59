// A tile of queries against a chunk of points: filter, refine and certify, or the full scan in canonical distances.
#pragma once

#include "exact/fallbacks.h"
#include "exact/progress.h"
#include "gpu/points/points.h"
#include "gpu/points/projection.h"
#include "gpu/runtime/pinned_block.h"
#include "kith/plan.h"

namespace kith::gpu {

// A tile of queries on the device. self: the id that each leaves out (relative to the chunk), or null.
struct QueryTile {
    PreparedRows rows;
    const std::int64_t* self = nullptr;
    bool by_position = false;  // query i is the point at position i of the chunk, for all of them
};

// The neighbours of a tile in one chunk: q x k keys and chunk-relative ids, each row sorted.
struct TileResult {
    Buffer<std::uint64_t> keys;
    Buffer<std::uint32_t> ids;
};

TileResult scan_tile(const Chunk& chunk, const DeviceMetric& metric, const QueryTile& queries, std::int64_t k,
                     std::int64_t point_tile, cudaStream_t stream);

// What filter_tile enqueued, with its certificates.
struct FilterOutcome {
    TileResult result;           // void in the rows of queries without a certificate
    Buffer<std::uint8_t> flags;  // q each: status, Fitness, and the filter's own
    Buffer<float> threshold;
    PinnedWords totals;      // [0] candidates, [1] queries without a certificate
    PinnedBlock counted;     // of a value pass, in their place: what close_values counted
    bool projected = false;  // whether its projection was used
    bool clustered = false;  // whether its clusters were
};

// What filters a tile.
struct TileFilterChoice {
    const FilterVectors& filter;
    const float* thresholds = nullptr;  // a certain one for each query (host or device memory); null: from samples
    // Of `filter`, where not null and no repeats are left out: after the samples its values say which points are looked
    // at.
    const ProjectedVectors* projected = nullptr;
    const Clusters* clusters = nullptr;  // likewise: which are looked at then follows from these
    std::int64_t* final_ids = nullptr;   // where not null, q x k: the result's ids once more, -1 where there is none
    const Repeats* repeats = nullptr;  // where not null, rows with as many equal ones before as are wanted are left out
};

// Enqueues.
FilterOutcome filter_tile(const Chunk& chunk, const TileFilterChoice& choice, const DeviceMetric& metric,
                          const QueryTile& queries, std::int64_t k, const Plan& plan, cudaStream_t stream);

// Queries without a certificate, and for each of them a threshold that is certain, or +inf, and what it lacked.
struct Uncertain {
    std::vector<std::int64_t> rows;
    std::vector<float> thresholds;
    std::vector<exact::Cause> causes;
};

// What leaves every one of q queries to the scan.
FilterOutcome nothing_filtered(std::int64_t q, std::int64_t k, cudaStream_t stream);
// Waits for the stream, and adds the candidates to `candidates`.
Uncertain uncertain_rows(FilterOutcome& outcome, double& candidates, cudaStream_t stream);

}  // namespace kith::gpu
