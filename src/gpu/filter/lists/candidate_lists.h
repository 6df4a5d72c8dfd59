// The queries' candidate lists between the passes of the fused filter: thresholds from samples,
// certificates, and the candidates to rescore.
#pragma once

#include <limits>

#include "gpu/filter/pass.h"
#include "gpu/metric/kernels.h"
#include "gpu/primitives/f32.h"

namespace kith::gpu {

// Classes of lengths, four per octave: class 4 i + j ends with 2^i (1 + j / 4).
inline constexpr int length_classes = 64;
KITH_HD int longest_of_class(int c) {
    return (((4 + c % 4) << c / 4) + 3) / 4;
}

// Lists of q queries, all on the device.
struct CandidateLists {
    std::int64_t q = 0, capacity = 0;
    Candidate* candidates = nullptr;  // q x capacity
    std::int32_t* counts =
        nullptr;  // per query; may exceed capacity: entries that did not fit are lost
    float* threshold = nullptr;  // per query: the threshold of the last pass
    std::uint8_t* overflowed =
        nullptr;  // per query: candidates did not fit, the list is incomplete
    const float* query_error = nullptr;  // E: the query's share of the error bound
    const float* point_error = nullptr;  // F: the point's share, per position
    // Histograms over the length classes: of all lists that start_lists or tighten_lists left, and
    // of the length that each overflowed list needs. 2 x length_classes, summed over calls. The
    // second one omits, after tighten_lists, the candidates that start_lists dropped and lengths
    // that no list can hold.
    unsigned* lengths = nullptr;
    float growth = 1;  // of a relative bound (FilterForm::growth)
    float ceiling =
        std::numeric_limits<float>::infinity();  // upper values from here on are infinite
    float farthest = largest_f32;                // FilterForm::farthest

    // The lists of queries [first, first + count).
    CandidateLists part(std::int64_t first, std::int64_t count) const {
        CandidateLists out = *this;
        out.q = count;
        out.candidates += first * capacity;
        out.counts += first;
        out.threshold += first;
        out.overflowed += first;
        out.query_error += first;
        return out;
    }
};

// out[i] = the row at position first + i, of n, for `count` positions.
void position_rows(const FilterForm& form, std::int64_t n, std::int64_t first, std::int64_t count,
                   std::int64_t* out, cudaStream_t stream);

// Starts the lists from the values of all pairs with positions [0, count), `ld` apart. A query's
// threshold becomes the order-th smallest upper value (or a slightly larger one). Its list becomes
// the pairs within that threshold.
void start_lists(const CandidateLists& lists, const float* all, std::int64_t ld, std::int64_t count,
                 std::int64_t order, cudaStream_t stream);

// Lowers each threshold to the order-th smallest upper value in its list, and drops the candidates
// beyond it.
void tighten_lists(const CandidateLists& lists, std::int64_t order, cudaStream_t stream);

// Lengths, in device memory. out[0] suffices for all but at most `few` of the lists, out[1] for all
// but at most `few` of those that overflowed. They are up to a quarter too long, and 0 if there are
// at most `few` lists. out[2] and out[3] suffice for all of them.
void most_lengths(const CandidateLists& lists, unsigned few, unsigned long long* out,
                  cudaStream_t stream);

// Copies the lists to longer ones: `to`, q x capacity.
void copy_lists(const CandidateLists& lists, Candidate* to, std::int64_t capacity,
                cudaStream_t stream);

// The status of a query.
enum FilterStatus : std::uint8_t { certified = 0, uncertain = 1 };

struct CloseTask {
    std::int64_t k = 0;  // neighbours, including the query itself if it is one of the points
    std::int64_t n = 0;  // points
    const std::int64_t* self = nullptr;   // per query: the row to leave out; may be null
    const std::uint8_t* unfit = nullptr;  // per query: Fitness
    const std::uint8_t* nan =
        nullptr;                     // per point: not 0 if it is NaN, and excluded from all lists
    std::uint32_t* ids = nullptr;    // q x capacity: rows of candidates; counts holds their number
    std::uint8_t* status = nullptr;  // per query
    unsigned long long* totals =
        nullptr;  // [0] candidates, [1] queries without a certificate; added to
};

// Finalizes the lists after the passes. T is the k-th smallest upper value of a list (or a slightly
// larger one). If T is within the threshold and the list is complete, every point of the answer is
// in the list, with a value of at most T. The entries up to T are the candidates to rescore.
//
// Otherwise the count becomes 0. The threshold becomes T, which is certain, if the query is fit and
// the list has k entries. Else it becomes one that includes all finite keys, if a fit query has
// such a threshold (most_certain), else +inf.
//
// A query without neighbours is certified with no candidates. A query at the same distance from all
// points gets the first rows. A query with fewer than k points at finite keys gets these points and
// the first rows.
void close_lists(const CandidateLists& lists, const FilterForm& form, const CloseTask& task,
                 cudaStream_t stream);

}  // namespace kith::gpu
