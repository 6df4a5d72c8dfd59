// The filter for very few queries, whose time is that of reading the points: products by f32 fused multiply-adds, every
// value stored, no samples. A query's threshold is certain from the start: points are dealt to groups, and the k-th
// smallest of the groups' least upper values is at least the k-th smallest of all.
#pragma once

#include <cstdint>

#include "gpu/filter/candidate_lists.h"
#include "gpu/filter/value_groups.h"

namespace kith::gpu {

// All on the device; vectors, half norms and point errors as in FilterPass.
struct ValuePass {
    const void* queries = nullptr;  // q x width halves
    const void* points = nullptr;   // n x width halves, at least one
    const float* half_norm = nullptr;
    const float* point_error = nullptr;
    float ceiling = 0;  // FilterForm::ceiling
    std::int64_t q = 0, n = 0, width = 0;
    std::int64_t groups = 0;
    float* values = nullptr;  // a of (query, position) at values[query * ld + position]
    std::int64_t ld = 0;      // a multiple of value_step that is at least n
    // Per query the keys (exact/order.h) of the least upper value of each group, then those of the least a: q x 2 x
    // groups.
    std::uint32_t* least = nullptr;
    // Those of the least a of each step: of group g at its turn t at [(query * groups + g) * steps_of_group() + t].
    // What a group lacks in the last turn is not written.
    std::uint32_t* step_least = nullptr;

    KITH_HD std::int64_t steps() const { return (n + value_step - 1) / value_step; }
    KITH_HD std::int64_t steps_of_group() const { return (steps() + groups - 1) / groups; }
};

// Every value, and the least of each group. Group g has the steps g, g + groups, g + 2 groups ... of value_step points.
void value_pass(const ValuePass& pass, cudaStream_t stream);

// Instead of the candidates of a query that has no certificate.
inline constexpr unsigned long long no_certificate = ~0ull;

// The candidates of the values, as close_lists leaves them: rows and their number, status, threshold. They are all that
// there are, unless a list has no room. For each query `counted` receives their number or no_certificate, in place of
// task.totals; it may be memory of the host.
void close_values(const ValuePass& pass, const CandidateLists& lists, const FilterForm& form, const CloseTask& task,
                  unsigned long long* counted, cudaStream_t stream);

}  // namespace kith::gpu
