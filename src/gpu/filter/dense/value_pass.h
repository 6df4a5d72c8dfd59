// The dense filter for very few queries (a GEMV, bound by reading the points). It computes and
// stores every value, by f32 fused multiply-adds or, for int8 vectors, by DP4A; there are no
// samples. Points are dealt to groups. A query's threshold is certain from the start: the k-th
// smallest of the groups' least upper values is at least the k-th smallest of all.
//
// Values of projected or int8 vectors (projection.h, bytes.h) are lower bounds only. Then the
// threshold is the k-th smallest full-dimensional upper value of pilots, the points with the least
// values.
#pragma once

#include <cstdint>

#include "gpu/filter/dense/value_groups.h"
#include "gpu/filter/lists/candidate_lists.h"
#include "gpu/filter/pca/projection.h"

namespace kith::gpu {

// All arrays are on the device; vectors, half norms and point errors are as in FilterPass.
struct ValuePass {
    const void* queries = nullptr;  // q x width halves
    const void* points = nullptr;   // n x width halves, at least one
    const float* half_norm = nullptr;
    const float* point_error = nullptr;  // null: values are lower bounds only
    bool bytes = false;  // int8 vectors, two values in the place of each half; half norms are ints
    float ceiling = 0;   // FilterForm::ceiling
    std::int64_t q = 0, n = 0, width = 0;
    std::int64_t groups = 0;
    // Keys of a (exact/order.h; value_key) of pair (query, position), at values[query * ld +
    // position].
    std::uint32_t* values = nullptr;
    std::int64_t ld = 0;  // a multiple of value_step that is at least n
    // For each query, the keys of the least upper value of each group, then those of the least a: q
    // x 2 x groups. If values are lower bounds only, the first part holds the positions of the
    // least a.
    std::uint32_t* least = nullptr;
    // The least a of each step: of step t of group g at [(query * groups + g) * steps_of_group() +
    // t]. Steps past the end of a group are not written.
    std::uint32_t* step_least = nullptr;

    KITH_HD std::int64_t steps() const { return (n + value_step - 1) / value_step; }
    KITH_HD std::int64_t steps_of_group() const { return (steps() + groups - 1) / groups; }
};

// The key of an int8 pass's value.
KITH_HD std::uint32_t value_key(int a) {
    return static_cast<std::uint32_t>(a) ^ 0x80000000u;
}

// The full-dimensional filter, for rescoring values that are lower bounds only.
struct CoarseValues {
    const void *queries = nullptr, *points = nullptr;  // rows of `width` halves
    const float *half_norm = nullptr, *point_error = nullptr;
    std::int64_t width = 0;
    const float* error = nullptr;        // per query, see projected_thresholds()
    double step = 0;                     // ByteForm::step
    int pilots = 0, pilots_of_warp = 0;  // ValuePilots
};

// int8 quantization of queries within the pass, which saves a launch. Only for directions with
// phi(v) = v.
struct QueryRounding {
    const __half* vectors = nullptr;  // rows of directions.depth
    Directions directions;
    float* error = nullptr;  // as round_queries() writes it
};
// True if the pass can quantize the queries.
bool rounds_queries(const Directions& directions, std::int64_t q);

// Computes every value, and the least of each group. Group g has the steps g, g + groups, g + 2
// groups ... of value_step points. `rounding`: replaces pass.queries if its vectors are not null.
void value_pass(const ValuePass& pass, cudaStream_t stream, const QueryRounding& rounding = {});

// Stored instead of the number of candidates for a query without a certificate.
inline constexpr unsigned long long no_certificate = ~0ull;

// Finalizes the candidates of the values as close_lists() does: rows and their number, status, and
// threshold (full-dimensional). The lists are complete unless one has no room. `coarse`: used if
// the pass has no upper values, for at most most_coarse_k neighbours. Instead of task.totals,
// `counted` receives each query's number of candidates or no_certificate; it may be host memory.
void close_values(const ValuePass& pass, const CoarseValues& coarse, const CandidateLists& lists,
                  const FilterForm& form, const CloseTask& task, unsigned long long* counted,
                  cudaStream_t stream);

}  // namespace kith::gpu
