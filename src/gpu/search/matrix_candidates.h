// Candidates from the whole matrix of f32 distances: a distance kernel and a selector, some queries at a time. Or from
// a fused kernel, in which both are one.
#pragma once

#include <string_view>

#include "gpu/distance/distance.h"
#include "gpu/filter/candidate_lists.h"

namespace kith::gpu {

struct MatrixCandidates {
    std::string_view kernel, selector;  // a distance kernel and a selector, or a fused kernel
    exact::Step step = exact::Step::squares;
    float exponent = 0;
    // Words and half norms as DistanceJob has them; all points of the chunk.
    const float *queries = nullptr, *points = nullptr, *half_norm = nullptr, *query_square = nullptr,
                *query_size = nullptr;
    std::int64_t width = 0, n = 0;
    std::int64_t wanted = 0;          // neighbours of a query
    std::int64_t matrix_queries = 0;  // queries whose values are in memory
    std::int64_t fused_lists = 0;     // or, of a fused kernel, lists
};

// The length of a list: listed_points() within what the selector and a list take, or fused_listed().
std::int64_t listed_of(const MatrixCandidates& task);

// Fills all lists to their capacity (listed_of), in any order, with a threshold that lacks no point: below the largest
// value listed, where points are left that may tie with it.
void list_candidates(const MatrixCandidates& task, const CandidateLists& lists, cudaStream_t stream);

}  // namespace kith::gpu
