// The queries' candidate lists between the passes of the fused filter: thresholds from samples,
// certificates, and the candidates that are to be refined.
#pragma once

#include <limits>

#include "gpu/filter/pass.h"
#include "gpu/metric/kernels.h"
#include "gpu/primitives/f32.h"

namespace kith::gpu {

// Classes of lengths, four to an octave: class 4 i + j ends with 2^i (1 + j / 4).
inline constexpr int length_classes = 64;
KITH_HD int longest_of_class(int c) {
    return (((4 + c % 4) << c / 4) + 3) / 4;
}

// Lists of q queries, all on the device.
struct CandidateLists {
    std::int64_t q = 0, capacity = 0;
    Candidate* candidates = nullptr;  // q x capacity
    std::int32_t* counts = nullptr;   // per query; may exceed capacity: what did not fit is lost
    float* threshold = nullptr;       // per query: that of the last pass
    std::uint8_t* overflowed =
        nullptr;  // per query: candidates did not fit, the list is incomplete
    const float* query_error = nullptr;  // E: the query's share of the error bound
    const float* point_error = nullptr;  // F: the point's share, per position
    // How many of the lists that start_lists or tighten_lists left are of each class of lengths,
    // and how many of those that had overflowed need one of that class: 2 x length_classes, summed
    // over calls. After tighten_lists less what start_lists left out; what no list could hold is
    // not counted.
    unsigned* lengths = nullptr;
    float growth = 1;  // of a relative bound (FilterForm::growth)
    float ceiling =
        std::numeric_limits<float>::infinity();  // upper values from here on are infinite
    float farthest = largest_f32;                // FilterForm::farthest

    // Those of queries [first, first + count).
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

// From the values of all pairs with positions [0, count), `ld` apart: the threshold of each query
// is the order-th smallest upper value (or one a little larger), its list the pairs within.
void start_lists(const CandidateLists& lists, const float* all, std::int64_t ld, std::int64_t count,
                 std::int64_t order, cudaStream_t stream);

// Lowers the thresholds to the order-th smallest upper value in each list, and drops the candidates
// beyond.
void tighten_lists(const CandidateLists& lists, std::int64_t order, cudaStream_t stream);

// What is long enough for all but `few` of the lists, out[0] (device memory), and for all but so
// many of those that overflowed, out[1]; up to a quarter more, and 0 where there are no more than
// `few`. out[2], out[3]: for all of them.
void most_lengths(const CandidateLists& lists, unsigned few, unsigned long long* out,
                  cudaStream_t stream);

// What the lists hold, to longer ones: `to`, q x capacity.
void copy_lists(const CandidateLists& lists, Candidate* to, std::int64_t capacity,
                cudaStream_t stream);

// Whether a query is done.
enum FilterStatus : std::uint8_t { certified = 0, uncertain = 1 };

struct CloseTask {
    std::int64_t k = 0;  // neighbours, the query itself included where it is among the points
    std::int64_t n = 0;  // points
    const std::int64_t* self = nullptr;   // per query: the row to leave out, or null
    const std::uint8_t* unfit = nullptr;  // per query: Fitness
    const std::uint8_t* nan = nullptr;    // per point: it is nobody's neighbour
    std::uint32_t* ids = nullptr;         // q x capacity: rows of candidates; counts says how many
    std::uint8_t* status = nullptr;       // per query
    unsigned long long* totals =
        nullptr;  // [0] candidates, [1] queries without a certificate; added to
};

// Ends the passes: T is the k-th smallest upper value of a list (or one a little larger). Where T
// is within the threshold and the list is complete, every point of the answer is in it with a value
// of at most T: these are refined. Elsewhere the count becomes 0, and the threshold becomes T if
// the list has k entries (a certain threshold), else +inf; +inf too where the query cannot be
// filtered. A query without neighbours is certified with none, one that all points are alike to
// with the first of them, one that has fewer than k points with finite keys with these and the
// first rows.
void close_lists(const CandidateLists& lists, const FilterForm& form, const CloseTask& task,
                 cudaStream_t stream);

}  // namespace kith::gpu
