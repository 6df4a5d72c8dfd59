// What the GPU backend asks of the papers' component (plan.h): its selectors, and the candidates of
// a tile of queries by a composed or a fused path.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "exact/direct_form.h"
#include "gpu/filter/candidate_lists.h"
#include "gpu/runtime/device_memory.h"
#include "gpu/select/selector.h"
#include "kith/plan.h"

namespace kith::papers {

// The function of a selector of the component, at that place in gpu::selectors. Throws
// invalid_argument where the component is not built.
gpu::SelectFunction selector_function(std::size_t place);

// A tile of q queries and a chunk of n points as the direct filter prepares them: words in panels
// (direct_place; bits_place where the step counts bits), whole ones on both sides, and the terms of
// its bound.
struct MatrixTile {
    const Plan& plan;  // of a composed or a fused path
    exact::Step step = exact::Step::squares;
    float exponent = 0;  // of powers
    const float *queries = nullptr, *points = nullptr;
    std::int64_t width = 0, q = 0, n = 0;  // words of a row, rows
    const float *half_norm = nullptr, *point_error = nullptr;
    const float *query_error = nullptr,
                *query_term = nullptr;  // query_term: sizes, where bits are counted
    float growth = 1;                   // of the lists (gpu::CandidateLists)
    std::uint8_t* unfit = nullptr;      // queries to be scanned; more may be added
    std::int64_t wanted = 0;            // neighbours of a query
    cudaStream_t stream = nullptr;
};

// Entries of a query's list.
std::int64_t listed_points(const MatrixTile& tile);

// The bound of the values in lists, where it is another than the direct filter's: a share of each
// point, of each query.
struct ListBound {
    gpu::Buffer<float> point_error, query_error;
};

// Fills all lists to their capacity, listed_points(), in any order, with a threshold that lacks no
// point: below the largest value listed, where points are left that may tie with it.
ListBound list_candidates(const MatrixTile& tile, const gpu::CandidateLists& lists);

}  // namespace kith::papers
