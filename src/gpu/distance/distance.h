// The contract of a distance kernel: the matrix of f32 values of some queries with all points of a chunk.
//
// A value is the metric's sum (or maximum) over the words of both rows, in any order, at most f32's largest number,
// plus the point's half norm: what the direct filter computes (gpu/filter/direct.h, docs/exactness.md, section 6), so
// that its bound holds for every kernel.
#pragma once

#include <cuda_runtime.h>

#include <string_view>

#include "exact/direct_form.h"
#include "gpu/distance/distance_kernels.h"

namespace kith::gpu {

struct DistanceJob {
    exact::Step step = exact::Step::squares;  // squares, cityblock or chebyshev
    // Words in panels (direct_place), whole ones on both sides.
    const float *queries = nullptr, *points = nullptr;
    const float* half_norm = nullptr;  // of each point
    std::int64_t width = 0;            // words of a row
    std::int64_t first_query = 0, q = 0, n = 0;
    float* values = nullptr;  // of (first_query + i, p) at values[i * n + p]
    cudaStream_t stream = nullptr;
};

// By the kernel of that name. Throws invalid_argument where there is none.
void distance_matrix(std::string_view kernel, const DistanceJob& job);

#define KITH_DISTANCES(function, name, what) void function(const DistanceJob& job);
#include "gpu/distance/distance_kernels.def"
#undef KITH_DISTANCES

}  // namespace kith::gpu
