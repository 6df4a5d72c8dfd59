// One pass of a filter: values of all queries with a range of points, each compared with its
// query's threshold in registers. What passes (rarely) is a candidate; the q x n matrix of values
// never exists in memory. The fused filter computes products in matrix units (fused_sm90a.cu,
// fused_sm80.cu), the direct one the metric itself (direct.cu).
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "exact/direct_form.h"
#include "gpu/filter/levels.h"

namespace kith::gpu {

// A pair that passed: the filter's value a = half_norm - <u^, v^>, or the metric's + half_norm, and
// the position of the point.
struct Candidate {
    float a;
    std::uint32_t point;
};

// All arrays on the device. Vectors of the fused filter: rows of `width` halves (a multiple of 16),
// 16-byte aligned; words of the direct one: panels (direct.h).
struct FilterPass {
    exact::Step step = exact::Step::dot;                         // dot: the fused filter
    exact::Coordinates coordinates = exact::Coordinates::exact;  // of the direct one
    float exponent = 0;                                          // DirectForm::exponent
    const void* queries = nullptr;                               // q x width
    const void* points = nullptr;                                // n x width
    const float* half_norm = nullptr;  // n: what the accumulators are initialised to; with +inf up
                                       // to a multiple of filter_tile_points
    std::int64_t q = 0, n = 0, width = 0;
    // The points of this pass: both multiples of filter_tile_points, but for a count that ends with
    // the points.
    std::int64_t first = 0, count = 0;
    // Candidates: pairs with a <= threshold[query]. Entry i of a query at candidates[query *
    // capacity + i]; counts[query] may exceed capacity: what did not fit is lost.
    const float* threshold = nullptr;
    Candidate* candidates = nullptr;
    std::int32_t* counts = nullptr;
    std::int64_t capacity = 0;
    // Where not null (sm_90a only), queries are the points by position, and a tile serves both
    // sides: its columns, as queries, have the rows within column_threshold (see column_thresholds;
    // padded as half_norm) as candidates. Tiles left of the diagonal are not computed, unless their
    // rows lie before `first`: those columns were queries of an earlier pass.
    const float* column_threshold = nullptr;
    // Or, where not null, every value: a of (query, first + i) at all[query * ld + i], ld a
    // multiple of filter_tile_points that is at least count.
    float* all = nullptr;
    std::int64_t ld = 0;
    // Where not null (sm_90a, neither `all` nor columns that are queries), half norms and
    // thresholds are terms of the products (augmented.h): a candidate is a pair whose sum has its
    // sign set, and its a that sum plus its threshold. Terms of more than 16 bytes a row are one
    // plane of such rows behind the other, so many bytes apart.
    const void *query_terms = nullptr, *point_terms = nullptr;
    int term_planes = 1;
    std::int64_t query_plane = 0, point_plane = 0;
    // Where not null, of halves with the latter, of whole numbers of 8 bits where says_sums: only
    // these tiles, counted from `first`. Of each listed_queries queries, tile_counts says how many,
    // at tiles[group * tile_stride].
    const std::uint32_t* tiles = nullptr;
    const std::uint32_t* tile_counts = nullptr;
    std::int64_t tile_stride = 0;  // the most that it says
    // Where not null, with the latter: queries are rows that were gathered, of which candidates and
    // counts are those of row_query[row].
    const std::uint32_t* row_query = nullptr;
    // Of whole numbers of 8 bits, whole K-tiles of them: whether the a of a candidate has the bits
    // of the int that its sum and half norm make, or less (of half norms and thresholds that terms
    // do not hold); else it is 0.
    bool says_sums = false;
    // Largest cluster (sm_90a): 1 for tools that do not follow mbarriers of other blocks.
    int most_cluster = 2;
    // Of Step::logarithms what a query adds to its values, q.
    const float* query_term = nullptr;
};

// Thresholds of columns as queries: a' = a - half_norm[column] + half_norm[row] <=
// threshold[column] for every pair that passes with a <= out[column] - half_norm[row] in f32,
// roundings included. `out` has room for whole tiles of points.
void column_thresholds(const float* threshold, const float* half_norm, std::int64_t n, float* out,
                       cudaStream_t stream);

// Which matrix instructions run it: wgmma and TMA (compute capability 9.0), or mma.sync (8.0 and
// later).
enum class FilterIsa { sm_80, sm_90a };

void filter_pass(const FilterPass& pass, FilterIsa isa, cudaStream_t stream);
void filter_pass_sm_90a(const FilterPass& pass, cudaStream_t stream);
void augmented_pass_sm_90a(const FilterPass& pass, cudaStream_t stream);
void filter_pass_sm_80(const FilterPass& pass, cudaStream_t stream);

}  // namespace kith::gpu
