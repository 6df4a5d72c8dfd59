// Steps of a range search on lists of pairs: classifies pairs by their filter values, and keys by
// the radius.
#pragma once

#include "gpu/filter/lists/ball_thresholds.h"
#include "gpu/filter/pass.h"
#include "gpu/runtime/memory/device_memory.h"

namespace kith::gpu {

// The radii of some queries, on the device. Keys up to `inner` are within, keys beyond `outer` are
// not. If the two differ (`asks`), keys in between are decided by the reported distance and the
// radius.
struct Balls {
    BallBounds bounds;
    const double* radii = nullptr;
    bool open = false, similarity = false, asks = false;
    Balls part(std::int64_t first) const {
        Balls out = *this;
        out.bounds.inner += first;
        out.bounds.outer += first;
        out.radii += first;
        return out;
    }
};

// Lists of filter values per query, to be classified: within, to be rescored, or neither.
struct ClassifyTask {
    std::int64_t q = 0, capacity = 0, n = 0;
    const Candidate* candidates = nullptr;  // q x capacity
    const std::int32_t* counts = nullptr;   // may exceed the capacity
    const float* point_error = nullptr;     // F, per position
    const float* included = nullptr;  // upper values up to this are within; null: no bound is known
    const std::int64_t* self = nullptr;   // per query: the row to leave out, or null
    std::uint8_t* self_listed = nullptr;  // per query: set where that row is in the list; or null
    std::uint32_t* ids = nullptr;         // q x capacity: rows to rescore
    std::int32_t* open = nullptr;         // per query: the number of rows to rescore
    std::int32_t* proven =
        nullptr;  // per query: number of pairs proven within; classify() adds to it
    std::int32_t* found = nullptr;  // per query: set to that number
};
void classify(const FilterForm& form, const ClassifyTask& task, cudaStream_t stream);

// Keys per query, `stride` apart: `counts` of them, or `count` if that is null. Ids: at the same
// places, or `first` + i if null. Reported distances: only if the balls ask for them.
struct RankedPairs {
    std::int64_t q = 0, count = 0, stride = 0;
    const std::uint64_t* keys = nullptr;
    const std::uint32_t* ids = nullptr;
    const std::int32_t* counts = nullptr;
    const double* reported = nullptr;
    std::uint32_t first = 0;
};
// found[query] += pairs within.
void count_within(const RankedPairs& pairs, const Balls& balls, std::int32_t* found,
                  cudaStream_t stream);
// Writes the pairs within: those of query i from offsets[i] on, unordered.
void take_within(const RankedPairs& pairs, const Balls& balls, const std::int64_t* offsets,
                 std::uint64_t* keys, std::uint32_t* ids, cudaStream_t stream);

// Lists the pair of each query and the row that it leaves out. The list has one entry if that is
// one of the n rows, else none.
void list_self(const std::int64_t* self, std::int64_t q, std::int64_t n, std::uint32_t* ids,
               std::int32_t* counts, cudaStream_t stream);
// Subtracts a query's own row from its total if the row is within and in no list: then it was
// counted by its filter value.
void take_self_off(const std::int32_t* within, const std::uint8_t* self_listed, std::int64_t q,
                   std::int64_t* totals, cudaStream_t stream);

// offsets[i] = the sum of counts[0 .. i), for 0 <= i <= q.
void sum_counts(const std::int32_t* counts, std::int64_t q, std::int64_t* offsets,
                cudaStream_t stream);
void sum_counts(const std::int64_t* counts, std::int64_t q, std::int64_t* offsets,
                cudaStream_t stream);

// Summary of a compared range of the points, over the queries still being answered. words: [0] the
// length of the longest list, [1] the most candidates of a query so far, [2] rescored pairs, [3]
// points within. The caller sets words to zero before.
struct RangeSummary {
    std::int64_t q = 0;
    const std::uint8_t* state = nullptr;
    const std::int32_t* listed = nullptr;
    const std::int32_t* open = nullptr;
    const std::int32_t* proven = nullptr;
    const std::int32_t* found = nullptr;
    const std::int64_t* seen = nullptr;
    unsigned long long* words = nullptr;
};
void summarize(const RangeSummary& range, cudaStream_t stream);

// Adds the range to the queries' totals. A query that has rescored more than most_needless pairs in
// vain is left: it gets that state, and a threshold that nothing passes.
struct RangeTotals {
    std::int64_t* seen = nullptr;      // candidates
    std::int64_t* needless = nullptr;  // pairs rescored in vain
    std::int64_t* total = nullptr;     // points within
    std::uint8_t* state = nullptr;
    float* excluded = nullptr;
    std::int64_t most_needless = 0;
    bool counting = false;  // every rescored pair is in vain
};
void add_range(const RangeSummary& range, const RangeTotals& totals, cudaStream_t stream);

// tile_totals[rows[i]] += totals[i] of queries that are answered; rows null: [i]. `state`:
// BallState, or null.
void add_totals(const std::int64_t* totals, std::int64_t q, const std::int64_t* rows,
                const std::uint8_t* state, std::int64_t* tile_totals, cudaStream_t stream);
void add_totals(const std::int32_t* totals, std::int64_t q, const std::int64_t* rows,
                std::int64_t* tile_totals, cudaStream_t stream);

}  // namespace kith::gpu
