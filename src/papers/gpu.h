// The papers' component as the GPU backend uses it (plan.h): its selectors, the candidates of a
// tile of queries on a composed or a fused path, and the distances of a kernel alone.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "exact/direct_form.h"
#include "exact/request.h"
#include "gpu/filter/lists/candidate_lists.h"
#include "gpu/runtime/memory/device_memory.h"
#include "gpu/select/selector.h"
#include "kith/plan.h"

namespace kith::gpu {
class Points;
}

namespace kith::papers {

// The function of the component's selector at this place in gpu::selectors. Throws invalid_argument
// if the component is not built.
gpu::SelectFunction selector_function(std::size_t place);

// A tile of q queries and a chunk of n points as the direct filter prepares them. Words are in
// panels (direct_place; bits_place if the step counts bits), whole panels on both sides, with the
// terms of the filter's bound.
struct MatrixTile {
    const Plan& plan;  // of a composed or a fused path
    exact::Step step = exact::Step::squares;
    float exponent = 0;  // of powers
    const float *queries = nullptr, *points = nullptr;
    std::int64_t width = 0, q = 0, n = 0;  // words of a row, rows
    const float *half_norm = nullptr, *point_error = nullptr;
    const float *query_error = nullptr,
                *query_term = nullptr;  // query_term: sizes, if bits are counted
    float growth = 1;                   // of the lists (gpu::CandidateLists)
    std::uint8_t* unfit = nullptr;      // queries to be scanned; more may be added
    std::int64_t wanted = 0;            // neighbours per query
    cudaStream_t stream = nullptr;
};

// Entries of a query's list.
std::int64_t listed_points(const MatrixTile& tile);

// The bound of the values in lists: a share per point and per query. Empty if it is the direct
// filter's.
struct ListBound {
    gpu::Buffer<float> point_error, query_error;
};

// Fills all lists to their capacity, listed_points(), in any order. No omitted point is below the
// threshold: if points are left that may tie with the largest value listed, the threshold is below
// that.
ListBound list_candidates(const MatrixTile& tile, const gpu::CandidateLists& lists);

// All distances as a distance kernel estimates them in f32 (Plan::distances, of distances_plan()),
// into the caller's matrix of f32. NaN if a row has a NaN, or coordinates that the kernel's words
// do not hold.
void distances(const gpu::Points& points, const DistancesRequest& request);

}  // namespace kith::papers
