// One pass of a filter: the values of all queries with a range of points, each compared in
// registers with its query's threshold. The few pairs within the threshold are candidates; the q x
// n matrix of values never exists in memory. The fused filter computes products in matrix units
// (fused_sm90a.cu, fused_sm80.cu); the direct filter computes the metric itself (direct.cu).
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "exact/direct_form.h"
#include "gpu/filter/levels.h"

namespace kith::gpu {

// A candidate pair: the filter's value, a = half_norm - <u^, v^> (fused) or the metric's value +
// half_norm (direct), and the position of the point.
struct Candidate {
    float a;
    std::uint32_t point;
};

// All arrays are on the device. The fused filter reads vectors: rows of `width` halves (a multiple
// of 16), 16-byte aligned. The direct filter reads words in panels (direct.h).
struct FilterPass {
    exact::Step step = exact::Step::dot;                         // dot: the fused filter
    exact::Coordinates coordinates = exact::Coordinates::exact;  // of the direct filter
    float exponent = 0;                                          // DirectForm::exponent
    const void* queries = nullptr;                               // q x width
    const void* points = nullptr;                                // n x width
    const float* half_norm = nullptr;  // n: initial value of the accumulators; +inf as padding up
                                       // to a multiple of filter_tile_points
    std::int64_t q = 0, n = 0, width = 0;
    // The points of this pass. Both are multiples of filter_tile_points, except that a count may
    // end with the points.
    std::int64_t first = 0, count = 0;
    // Candidates are the pairs with a <= threshold[query]. Entry i of a query is at
    // candidates[query * capacity + i]. counts[query] may exceed capacity: entries that did not fit
    // are lost.
    const float* threshold = nullptr;
    Candidate* candidates = nullptr;
    std::int32_t* counts = nullptr;
    std::int64_t capacity = 0;
    // If not null (sm_90a only), the queries are the points by position, and a tile serves both
    // sides: its columns act as queries, too. A column's candidates are the rows within
    // column_threshold (see column_thresholds; padded as half_norm). Tiles left of the diagonal are
    // not computed, unless their rows lie before `first`: their columns were queries of an earlier
    // pass.
    const float* column_threshold = nullptr;
    // If not null, the pass stores every value instead: a of (query, first + i) at all[query * ld +
    // i]. The stride ld is a multiple of filter_tile_points and at least count.
    float* all = nullptr;
    std::int64_t ld = 0;
    // If not null (sm_90a, without `all` and without columns as queries), half norms and thresholds
    // are bias columns of the product (augmented.h). A candidate is a pair with the sign bit of its
    // sum set; its a is that sum plus its threshold. Terms of more than 16 bytes per row lie in
    // several planes of 16-byte rows; query_plane and point_plane are the bytes between planes.
    const void *query_terms = nullptr, *point_terms = nullptr;
    int term_planes = 1;
    std::int64_t query_plane = 0, point_plane = 0;
    // If not null, the pass visits only these tiles, counted from `first`. Requires fp16 vectors
    // with bias columns, or int8 vectors with says_sums. Each group of listed_queries queries has
    // tile_counts[group] tiles, at tiles[group * tile_stride].
    const std::uint32_t* tiles = nullptr;
    const std::uint32_t* tile_counts = nullptr;
    std::int64_t tile_stride = 0;  // the largest tile count
    // If not null (requires `tiles`), the queries are gathered rows: the candidates and counts of a
    // row belong to query row_query[row].
    const std::uint32_t* row_query = nullptr;
    // For int8 vectors in whole K-tiles: the a of a candidate holds the bits of an int, its sum
    // plus half norm. The int is smaller if bias columns cannot represent the half norm or the
    // threshold. Otherwise a is 0.
    bool says_sums = false;
    // Largest cluster (sm_90a): 1 for tools that do not follow mbarriers of other blocks.
    int most_cluster = 2;
    // For Step::logarithms: the term that a query adds to its values, q.
    const float* query_term = nullptr;
};

// Thresholds of columns as queries. Every pair with a' = a - half_norm[column] + half_norm[row] <=
// threshold[column] satisfies a <= out[column] - half_norm[row] in f32, roundings included. `out`
// has room for whole tiles of points.
void column_thresholds(const float* threshold, const float* half_norm, std::int64_t n, float* out,
                       cudaStream_t stream);

// The matrix instructions of a pass: wgmma and TMA (compute capability 9.0), or mma.sync (8.0 and
// later).
enum class FilterIsa { sm_80, sm_90a };

void filter_pass(const FilterPass& pass, FilterIsa isa, cudaStream_t stream);
void filter_pass_sm_90a(const FilterPass& pass, cudaStream_t stream);
void augmented_pass_sm_90a(const FilterPass& pass, cudaStream_t stream);
void filter_pass_sm_80(const FilterPass& pass, cudaStream_t stream);

}  // namespace kith::gpu
