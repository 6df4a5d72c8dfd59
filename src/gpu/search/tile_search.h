// A tile of queries against a chunk of points: filter, refine and certify, or the full scan in
// canonical distances.
#pragma once

#include "exact/fallbacks.h"
#include "exact/progress.h"
#include "gpu/points/points.h"
#include "gpu/points/projection.h"
#include "gpu/runtime/pinned_block.h"
#include "gpu/runtime/pinned_words.h"
#include "kith/plan.h"

namespace kith::gpu {

// A tile of queries on the device. self: the id that each leaves out (relative to the chunk), or
// null.
struct QueryTile {
    PreparedRows rows;
    const std::int64_t* self = nullptr;
    bool by_position = false;  // query i is the point at position i of the chunk, for all of them
    RowMeasures unmeasured = {};  // where its nan is not null, rows are measured there first
};

// The neighbours of a tile in one chunk: q x k keys and chunk-relative ids, each row sorted.
struct TileResult {
    Buffer<std::uint64_t> keys;
    Buffer<std::uint32_t> ids;
};

TileResult scan_tile(const Chunk& chunk, const DeviceMetric& metric, const QueryTile& queries,
                     std::int64_t k, std::int64_t point_tile, cudaStream_t stream);

// What a filter keeps of q queries, on the device and in one piece: allocating takes a small
// search's time.
class QueryState {
public:
    QueryState() = default;
    QueryState(std::int64_t q, cudaStream_t stream)
        : q_(q), memory_(q * (4 * sizeof(float) + 3), stream) {}
    std::int64_t queries() const { return q_; }
    float* error() const { return at<float>(0); }  // 2 q: see filter_queries
    float* threshold() const { return error() + 2 * q_; }
    std::int32_t* counts() const { return at<std::int32_t>(3 * sizeof(float)); }
    // q each: status, Fitness (adjacent), and which lists are incomplete.
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

// What filter_tile enqueued, with its certificates.
struct FilterOutcome {
    TileResult result;  // void in the rows of queries without a certificate
    QueryState state;
    PinnedWords totals;      // [0] candidates, [1] queries without a certificate
    PinnedBlock counted;     // of a value pass, in their place: what close_values counted
    bool projected = false;  // whether its projection was used
    bool clustered = false;  // whether its clusters were
};

// What filters a tile.
struct TileFilterChoice {
    const FilterVectors& filter;
    const float* thresholds =
        nullptr;  // a certain one for each query (host or device memory); null: from samples
    // Of `filter`, where not null and no repeats are left out: after the samples its values say
    // which points are looked at.
    const ProjectedVectors* projected = nullptr;
    const Clusters* clusters = nullptr;  // likewise: which are looked at then follows from these
    std::int64_t* final_ids =
        nullptr;  // where not null, q x k: the result's ids once more, -1 where there is none
    // The filter's vectors are those of a sample alone (points/listed_vectors.h), and the
    // projection is in bytes.
    bool by_bytes = false;
    const Repeats* repeats =
        nullptr;  // where not null, rows with as many equal ones before as are wanted are left out
};

// Enqueues.
FilterOutcome filter_tile(const Chunk& chunk, const TileFilterChoice& choice,
                          const DeviceMetric& metric, const QueryTile& queries, std::int64_t k,
                          const Plan& plan, cudaStream_t stream);

// Queries without a certificate, and for each of them a threshold that is certain, or +inf, and
// what it lacked.
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
