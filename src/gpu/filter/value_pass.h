// The filter for very few queries, whose time is that of reading the points: every value computed
// and stored, by f32 fused multiply-adds or, of whole numbers of 8 bits, by DP4A; no samples.
// Points are dealt to groups. A query's threshold is certain from the start: the k-th smallest of
// the groups' least upper values is at least the k-th smallest of all. Values along few directions
// or of 8 bits (projection.h, bytes.h) bound those of all coordinates from below alone: there the
// threshold is the k-th smallest upper value, by all coordinates, of the points with the least
// values.
#pragma once

#include <cstdint>

#include "gpu/filter/candidate_lists.h"
#include "gpu/filter/projection.h"
#include "gpu/filter/value_groups.h"

namespace kith::gpu {

// All on the device; vectors, half norms and point errors as in FilterPass.
struct ValuePass {
    const void* queries = nullptr;  // q x width halves
    const void* points = nullptr;   // n x width halves, at least one
    const float* half_norm = nullptr;
    const float* point_error = nullptr;  // null: values are lower bounds alone
    bool bytes = false;  // numbers of 8 bits, two in the place of each half; half norms are ints
    float ceiling = 0;   // FilterForm::ceiling
    std::int64_t q = 0, n = 0, width = 0;
    std::int64_t groups = 0;
    // Keys of a (exact/order.h; value_key) of (query, position), at values[query * ld + position].
    std::uint32_t* values = nullptr;
    std::int64_t ld = 0;  // a multiple of value_step that is at least n
    // Per query the keys of the least upper value of each group (where values are lower bounds
    // alone, the positions of the least a), then those of the least a: q x 2 x groups.
    std::uint32_t* least = nullptr;
    // Those of the least a of each step: of group g at its turn t at [(query * groups + g) *
    // steps_of_group() + t]. What a group lacks in the last turn is not written.
    std::uint32_t* step_least = nullptr;

    KITH_HD std::int64_t steps() const { return (n + value_step - 1) / value_step; }
    KITH_HD std::int64_t steps_of_group() const { return (steps() + groups - 1) / groups; }
};

// The key of a value of whole numbers.
KITH_HD std::uint32_t value_key(int a) {
    return static_cast<std::uint32_t>(a) ^ 0x80000000u;
}

// What stands behind values that are lower bounds alone: the filter of all coordinates.
struct CoarseValues {
    const void *queries = nullptr, *points = nullptr;  // rows of `width` halves
    const float *half_norm = nullptr, *point_error = nullptr;
    std::int64_t width = 0;
    const float* error = nullptr;        // per query, see projected_thresholds()
    double step = 0;                     // ByteForm::step
    int pilots = 0, pilots_of_warp = 0;  // ValuePilots
};

// Queries that a pass of numbers of 8 bits rounds to these itself: a launch less. Of directions
// whose phi(v) = v.
struct QueryRounding {
    const __half* vectors = nullptr;  // rows of directions.depth
    Directions directions;
    float* error = nullptr;  // as round_queries() leaves it
};
// Whether it can.
bool rounds_queries(const Directions& directions, std::int64_t q);

// Every value, and the least of each group. Group g has the steps g, g + groups, g + 2 groups ...
// of value_step points. `rounding`: where its vectors are not null, in place of pass.queries.
void value_pass(const ValuePass& pass, cudaStream_t stream, const QueryRounding& rounding = {});

// Instead of the candidates of a query that has no certificate.
inline constexpr unsigned long long no_certificate = ~0ull;

// The candidates of the values, as close_lists leaves them: rows and their number, status,
// threshold (of values of all coordinates). They are all that there are, unless a list has no room.
// `coarse`: where the pass has no upper values, for at most most_coarse_k neighbours. For each
// query `counted` receives their number or no_certificate, in place of task.totals; it may be
// memory of the host.
void close_values(const ValuePass& pass, const CoarseValues& coarse, const CandidateLists& lists,
                  const FilterForm& form, const CloseTask& task, unsigned long long* counted,
                  cudaStream_t stream);

}  // namespace kith::gpu
