// Steps of a search by radius on lists of pairs: which are within without a look, and which keys
// are within.
#pragma once

#include "gpu/filter/ball_thresholds.h"
#include "gpu/filter/pass.h"
#include "gpu/runtime/device_memory.h"

namespace kith::gpu {

// Of some queries, on the device: how keys are decided. Up to `inner` they are within, beyond
// `outer` they are not; between, where the two differ (`asks`), the reported distance is compared
// with the radius.
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

// A list of filter values per query, to be refined or not.
struct ClassifyTask {
    std::int64_t q = 0, capacity = 0, n = 0;
    const Candidate* candidates = nullptr;  // q x capacity
    const std::int32_t* counts = nullptr;   // may exceed the capacity
    const float* point_error = nullptr;     // F, per position
    const float* included = nullptr;  // upper values up to it are within; null: none is known to be
    const std::int64_t* self = nullptr;   // per query: the row to leave out, or null
    std::uint8_t* self_listed = nullptr;  // per query: set where that row is in the list; or null
    std::uint32_t* ids = nullptr;         // q x capacity: rows to refine
    std::int32_t* open = nullptr;         // per query: how many these are
    std::int32_t* proven =
        nullptr;  // per query: how many are within without; those are added to what it holds
    std::int32_t* found = nullptr;  // per query: set to the same
};
void classify(const FilterForm& form, const ClassifyTask& task, cudaStream_t stream);

// Keys per query: `counts` of them, or `count` where that is null, `stride` apart. Ids: the same
// places, or `first` + i where null. Reported distances: where the balls ask for them.
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
// The pairs within, those of query i from offsets[i] on, in no order.
void take_within(const RankedPairs& pairs, const Balls& balls, const std::int64_t* offsets,
                 std::uint64_t* keys, std::uint32_t* ids, cudaStream_t stream);

// The pair of each query with the row that it leaves out, as a list of one where that is one of n
// rows, else of none.
void list_self(const std::int64_t* self, std::int64_t q, std::int64_t n, std::uint32_t* ids,
               std::int32_t* counts, cudaStream_t stream);
// Takes those off the totals that are within and in no list: they were counted unseen.
void take_self_off(const std::int32_t* within, const std::uint8_t* self_listed, std::int64_t q,
                   std::int64_t* totals, cudaStream_t stream);

// offsets[i] = the sum of counts[0 .. i), for 0 <= i <= q.
void sum_counts(const std::int32_t* counts, std::int64_t q, std::int64_t* offsets,
                cudaStream_t stream);
void sum_counts(const std::int64_t* counts, std::int64_t q, std::int64_t* offsets,
                cudaStream_t stream);

// Of a range of points that has been compared: words[0] the longest list, [1] the most candidates
// of a query so far, [2] refined pairs, [3] points within; of queries that are being answered.
// Words are zero before.
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

// Adds the range to the queries' totals. A query that has refined more than `most` pairs in vain is
// left: it gets the state and no threshold.
struct RangeTotals {
    std::int64_t* seen = nullptr;      // candidates
    std::int64_t* needless = nullptr;  // pairs refined in vain
    std::int64_t* total = nullptr;     // points within
    std::uint8_t* state = nullptr;
    float* excluded = nullptr;
    std::int64_t most_needless = 0;
    bool counting = false;  // every refined pair is in vain
};
void add_range(const RangeSummary& range, const RangeTotals& totals, cudaStream_t stream);

// tile_totals[rows[i]] += totals[i] of queries that are answered; rows null: [i]. `state`:
// BallState, or null.
void add_totals(const std::int64_t* totals, std::int64_t q, const std::int64_t* rows,
                const std::uint8_t* state, std::int64_t* tile_totals, cudaStream_t stream);
void add_totals(const std::int32_t* totals, std::int64_t q, const std::int64_t* rows,
                std::int64_t* tile_totals, cudaStream_t stream);

}  // namespace kith::gpu
