// A sweep of the filter: the values of all queries with a range of points, each compared with its
// query's threshold in registers. The few pairs within it are candidates; the q x n matrix of
// values never exists in memory.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "exact/direct_form.h"
#include "gpu/filter/levels.h"

namespace kith::formula {
struct Program;
}

namespace kith::gpu {

// A pair within its threshold: the filter's value a (half_norm - <u^, v^>, or the metric +
// half_norm) and the position of the point.
struct Candidate {
    float a;
    std::uint32_t point;
};

// An element of a row whose products the matrix units compute. int8: sm_90a only, see bytes.h.
enum class Format { fp16, int8 };

// Both sides of a sweep. All arrays are on the device. Step::dot: rows of `width` halves, or pairs
// of int8 (a multiple of 16), 16-byte aligned. Other steps: words of the metric's direct form in
// f32, in panels (direct.h).
struct Operands {
    exact::Step step = exact::Step::dot;
    Format format = Format::fp16;  // Step::dot
    exact::Coordinates coordinates = exact::Coordinates::exact;
    float exponent = 0;                         // DirectForm::exponent
    const formula::Program* formula = nullptr;  // not null: the step of a user's formula
    const void* queries = nullptr;              // q x width
    const void* points = nullptr;               // n x width
    const float* half_norm = nullptr;           // n: the initial value of the accumulators; +inf
                                                // up to a multiple of filter_tile_points. int8:
                                                // ints
    const float* query_term = nullptr;          // q: what Step::logarithms adds to a query's values
    std::int64_t q = 0, n = 0, width = 0;
    // sm_90a, neither Sink::all nor column_threshold: half norms and thresholds as bias columns of
    // the products (augmented.h). A candidate is a pair whose sum is negative, and its a is that
    // sum plus the threshold. Columns of more than 16 bytes a row lie in planes, query_plane and
    // point_plane bytes apart. Null: none.
    const void *query_terms = nullptr, *point_terms = nullptr;
    int term_planes = 1;
    std::int64_t query_plane = 0, point_plane = 0;
};

// The points that a sweep visits.
struct Range {
    // Multiples of filter_tile_points, but for a count that ends with the points.
    std::int64_t first = 0, count = 0;
    // Not null (with bias columns, or int8 with Sink::says_sums): only these tiles, counted from
    // `first`. Each group of listed_queries queries has tile_counts[group] of them, at
    // tiles[group * tile_stride].
    const std::uint32_t* tiles = nullptr;
    const std::uint32_t* tile_counts = nullptr;
    std::int64_t tile_stride = 0;  // the largest count
    // Not null, with `tiles`: queries are gathered rows; the candidates and counts of a row are
    // those of query row_query[row].
    const std::uint32_t* row_query = nullptr;
};

// Where the values go: to candidate lists, counts of certain hits, or a dense matrix.
struct Sink {
    // Candidates: pairs with a <= threshold[query]. Entry i of a query is at candidates[query *
    // capacity + i]; counts[query] may exceed capacity, and entries beyond it are lost.
    const float* threshold = nullptr;  // int8: ints
    Candidate* candidates = nullptr;
    std::int32_t* counts = nullptr;
    std::int64_t capacity = 0;
    // Not null (sm_90a only): queries are the points by position, and a tile serves both of its
    // sides. Its columns, as queries, have the rows within column_threshold as candidates (see
    // column_thresholds; padded as half_norm). Tiles left of the diagonal are skipped, unless their
    // rows lie before `first`: those columns were queries of an earlier sweep.
    const float* column_threshold = nullptr;
    // Not null (range search): values of covered points (above -inf) up to sure_up_to[query] are
    // certain hits. They are counted in sure_counts (added to) and not listed. Sweeps without a
    // counting kernel list all pairs.
    const float* sure_up_to = nullptr;
    std::int32_t* sure_counts = nullptr;
    // Not null: every value is stored, a of (query, first + i) at all[query * ld + i]; ld is a
    // multiple of filter_tile_points and at least `count`.
    float* all = nullptr;
    std::int64_t ld = 0;
    // int8, whole K-tiles: the a of a candidate has the bits of the int that its sum and half norm
    // make, or less (where bias columns do not hold them). Otherwise it is 0.
    bool says_sums = false;
};

// The parameters of a kernel of a sweep.
struct FilterPass : Operands, Range, Sink {
    // Largest cluster of blocks (sm_90a): 1 for tools that do not follow mbarriers of other blocks.
    int most_cluster = 2;
};

// Thresholds of columns as queries: a' = a - half_norm[column] + half_norm[row] <=
// threshold[column] for every pair that passes with a <= out[column] - half_norm[row] in f32,
// roundings included. `out` has room for whole tiles of points.
void column_thresholds(const float* threshold, const float* half_norm, std::int64_t n, float* out,
                       cudaStream_t stream);

// Matrix instructions: mma.sync (compute capability 8.0 and later), or wgmma and TMA (9.0).
enum class FilterIsa { sm_80, sm_90a };

// Enqueues the kernel for the operands, range and sink. Throws invalid_argument for a
// column_threshold without sm_90a, and for tiles that the kernel would ignore.
void sweep(const FilterPass& pass, FilterIsa isa, cudaStream_t stream);

}  // namespace kith::gpu
