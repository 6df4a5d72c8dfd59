// Candidates from the whole matrix of f32 distances: a distance kernel and a selector, some queries at a time.
#pragma once

#include <string_view>

#include "gpu/distance/distance.h"
#include "gpu/filter/candidate_lists.h"

namespace kith::gpu {

struct MatrixCandidates {
    std::string_view kernel, selector;
    exact::Step step = exact::Step::squares;
    float exponent = 0;
    // Words and half norms as DistanceJob has them; all points of the chunk.
    const float *queries = nullptr, *points = nullptr, *half_norm = nullptr, *query_square = nullptr;
    std::int64_t width = 0, n = 0;
    std::int64_t at_once = 0;  // queries whose values are in memory
};

// The length of a list: listed_points() within what the selector and a list take.
std::int64_t listed_of(std::string_view selector, std::int64_t n, std::int64_t wanted);

// Fills all lists to their capacity (listed_of), with a threshold that lacks no point: below the largest value listed,
// where points are left that may tie with it.
void list_candidates(const MatrixCandidates& task, const CandidateLists& lists, cudaStream_t stream);

}  // namespace kith::gpu
