// A tile of queries against a chunk of points: filter, refine and certify, or the full scan in
// canonical distances.
#pragma once

#include "exact/report/fallbacks.h"
#include "exact/report/progress.h"
#include "gpu/points/pca/projection.h"
#include "gpu/points/points.h"
#include "gpu/runtime/memory/pinned_block.h"
#include "gpu/runtime/memory/pinned_words.h"
#include "kith/plan.h"

namespace kith::gpu {

struct SearchContext;  // context.h

// A tile of queries on the device. self: per query, the id that it leaves out (relative to the
// chunk); or null.
struct QueryTile {
    PreparedRows rows;
    const std::int64_t* self = nullptr;
    bool by_position = false;  // query i is the point at position i of the chunk, for all of them
    RowMeasures unmeasured = {};  // if its nan is not null, the filter measures the rows
};

// The neighbours of a tile in one chunk: q x k keys and chunk-relative ids, each row sorted.
struct TileResult {
    Buffer<std::uint64_t> keys;
    Buffer<std::uint32_t> ids;
};

TileResult scan_tile(const Chunk& chunk, const DeviceMetric& metric, const QueryTile& queries,
                     std::int64_t k, std::int64_t point_tile, cudaStream_t stream);

// The filter's arrays of q queries on the device, in one allocation: several would dominate a small
// search.
class QueryState {
public:
    QueryState() = default;
    QueryState(std::int64_t q, cudaStream_t stream)
        : q_(q), memory_(q * (4 * sizeof(float) + 3), stream) {}
    std::int64_t queries() const { return q_; }
    float* error() const { return at<float>(0); }  // 2 q: see filter_queries
    float* threshold() const { return error() + 2 * q_; }
    std::int32_t* counts() const { return at<std::int32_t>(3 * sizeof(float)); }
    // q bytes each, adjacent: the status, the Fitness, and whether the candidate list is
    // incomplete.
    std::uint8_t* status() const { return at<std::uint8_t>(4 * sizeof(float)); }
    std::uint8_t* unfit() const { return status() + q_; }
    std::uint8_t* overflowed() const { return status() + 2 * q_; }

private:
    template <class T>
    T* at(std::size_t bytes_before) const {
        return reinterpret_cast<T*>(memory_.get() + bytes_before * static_cast<std::size_t>(q_));
    }
    std::int64_t q_ = 0;
    Buffer<char> memory_;
};

// The work that filter_tile enqueued, with its certificates.
struct FilterOutcome {
    TileResult result;  // void in the rows of queries without a certificate
    QueryState state;
    PinnedWords totals;      // [0] candidates, [1] queries without a certificate
    PinnedBlock counted;     // in place of totals, after a value pass: the counts of close_values
    bool projected = false;  // the projection was used
    bool clustered = false;  // clusters were left out
    bool values = false;     // every value was computed, without samples
};

// The forms of the points that filter a tile.
struct TileFilterChoice {
    const FilterVectors& filter;
    const float* thresholds =
        nullptr;  // a certain one for each query (host or device memory); null: from samples
    // A projection of `filter`, or null. After the samples its values select the points that are
    // rescored. Unused where duplicate rows (repeats) are left out.
    const ProjectedVectors* projected = nullptr;
    const Clusters* clusters =
        nullptr;  // clusters of `filter`, or null: tiles of far ones are left out; likewise
    std::int64_t* final_ids =
        nullptr;  // if not null, q x k: receives the result's ids, -1 for a missing one
    // The filter has vectors of a sample alone (points/listed_vectors.h), and the projection is
    // int8.
    bool by_bytes = false;
    const Repeats* repeats =
        nullptr;  // if not null, duplicate rows beyond the first k_eff are left out
};

// Enqueues.
FilterOutcome filter_tile(const SearchContext& context, const Chunk& chunk,
                          const TileFilterChoice& choice, const QueryTile& queries);

// A query of a tile that a strategy has left without a certificate.
struct LeftQuery {
    std::int64_t row;
    float threshold;  // a certain one, or +inf
    exact::Cause cause;
};
using LeftQueries = std::vector<LeftQuery>;  // in the order of their rows

// An outcome that leaves all q queries to the scan.
FilterOutcome nothing_filtered(std::int64_t q, std::int64_t k, cudaStream_t stream);
// Waits for the stream, and adds the candidates to `candidates`.
LeftQueries left_by(FilterOutcome& outcome, double& candidates, cudaStream_t stream);

}  // namespace kith::gpu
