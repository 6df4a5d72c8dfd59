// The queries' lists of survivors between the passes of the fused filter: limits from samples, and what is left for
// refinement in the end.
#pragma once

#include "gpu/filter/pass.h"
#include "gpu/metric_kernels.h"

namespace kith::gpu {

// Lists of q queries, all on the device.
struct FilterLists {
    std::int64_t q = 0, capacity = 0;
    Survivor* survivors = nullptr;   // q x capacity
    std::int32_t* counts = nullptr;  // per query; beyond capacity what did not fit is lost
    float* limit = nullptr;          // per query: what the last pass kept
    std::uint8_t* lost = nullptr;    // per query: not everything within the limit is in the list
    const float* e = nullptr;        // the bound's term per query
    const float* f = nullptr;        // and per position
    // The longest list that start_lists or tighten_lists left (the largest, over calls).
    unsigned long long* longest = nullptr;
};

// out[p] = the row at position p, of n.
void position_rows(const FilterForm& form, std::int64_t n, std::int64_t* out, cudaStream_t stream);

// From the values of all pairs with positions [0, count), `ld` apart: the limit of each query is the rank-th smallest
// upper value (or one a little larger), its list what lies within.
void start_lists(const FilterLists& lists, const float* all, std::int64_t ld, std::int64_t count, std::int64_t rank,
                 cudaStream_t stream);

// Lowers the limits to the rank-th smallest upper value in each list, and drops what lies beyond.
void tighten_lists(const FilterLists& lists, std::int64_t rank, cudaStream_t stream);

// What decides whether a query is done.
enum FilterStatus : std::uint8_t { certified = 0, uncertain = 1 };

struct CloseTask {
    std::int64_t k = 0;                    // neighbours, the query itself included where it is among the points
    std::int64_t n = 0;                    // points
    const std::int64_t* self = nullptr;    // per query: the row to leave out, or null
    const std::uint8_t* unfit = nullptr;   // per query: cannot be filtered
    std::uint32_t* ids = nullptr;          // q x capacity: rows of candidates; counts says how many
    std::uint8_t* status = nullptr;        // per query
    unsigned long long* totals = nullptr;  // [0] candidates, [1] queries without a certificate; added to
};

// Ends the passes: T is the k-th smallest upper value of a list (or one a little larger). Where it is within the limit
// and nothing was lost, every point of the answer is in the list, at most T: these become candidates. Elsewhere the
// count becomes 0, and the limit becomes T if the list has k entries (a limit that is certain), else +inf; +inf too
// where the query cannot be filtered.
void close_lists(const FilterLists& lists, const FilterForm& form, const CloseTask& task, cudaStream_t stream);

}  // namespace kith::gpu
