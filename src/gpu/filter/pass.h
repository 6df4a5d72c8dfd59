// One pass of the fused filter: products of all queries with a run of points, each compared with its query's limit
// where it is made. What passes (rarely) leaves as a survivor; the q x n matrix of products never exists in memory.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "gpu/filter/levels.h"

namespace kith::gpu {

// A pair that passed: the filter's value a = h - <u^, v^>, and the position of the point.
struct Survivor {
    float a;
    std::uint32_t point;
};

// All arrays on the device. Vectors: rows of `width` elements (a multiple of 16), 16-byte aligned.
struct FilterPass {
    const __half* queries = nullptr;  // q x width
    const __half* points = nullptr;   // n x width
    const float* h = nullptr;         // n, with +inf up to a multiple of filter_tile_points
    std::int64_t q = 0, n = 0, width = 0;
    // The points of this pass: both multiples of filter_tile_points, but for a count that ends with the points.
    std::int64_t first = 0, count = 0;
    // Survivors: those with a <= limit[query]. Entry i of a query at survivors[query * capacity + i]; counts[query]
    // goes on counting where the room ends.
    const float* limit = nullptr;
    Survivor* survivors = nullptr;
    std::int32_t* counts = nullptr;
    std::int64_t capacity = 0;
    // Where not null (sm_90a only), queries are the points by position, and a tile serves both sides: its columns, as
    // queries, keep the rows within column_limit (see column_limits; padded as h). Tiles left of the diagonal are not
    // computed, unless their rows lie before `first`, where columns had their turn in an earlier pass.
    const float* column_limit = nullptr;
    // Or, where not null, every value: a of (query, first + i) at all[query * ld + i], ld a multiple of
    // filter_tile_points that is at least count.
    float* all = nullptr;
    std::int64_t ld = 0;
    // Blocks that share a tile's points, at most (sm_90a): 1 for tools that do not follow barriers of other blocks.
    int most_cluster = 2;
};

// What a column must not exceed for column_limit: a' = a - h[column] + h[row] <= limit[column] for every pair that
// passes with a <= out[column] - h[row] in f32, roundings included. `out` has room for whole tiles of points.
void column_limits(const float* limit, const float* h, std::int64_t n, float* out, cudaStream_t stream);

// Which matrix instructions run it: wgmma with bulk tensor copies (compute capability 9.0), or mma.sync (8.0 and
// later).
enum class FilterIsa { sm_80, sm_90a };

void filter_pass(const FilterPass& pass, FilterIsa isa, cudaStream_t stream);
void filter_pass_sm_90a(const FilterPass& pass, cudaStream_t stream);
void filter_pass_sm_80(const FilterPass& pass, cudaStream_t stream);

}  // namespace kith::gpu
