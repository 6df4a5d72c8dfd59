// The contract of a distance kernel: the matrix of f32 values of some queries with all points of a
// chunk.
//
// A value is what the direct filter computes (gpu/filter/direct.h, docs/exactness.md, section 6):
// the metric's sum (or maximum, or quotient of sums) over the words of both rows, in any order, at
// most f32's largest number, plus the point's half norm; of bits their count, with the rows' sizes.
// So its bound holds for every kernel. Those of the expanded form (DistanceKernel::expanded) have
// half norms, and squares of the queries, of their own, with a bound of their own (expanded.h).
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <cstdint>
#include <string_view>

#include "exact/direct_form.h"
#include "papers/distance/distance_kernels.h"

namespace kith::gpu {

struct DistanceJob {
    // Any that a GPU's direct filter has for words that are not coarse (exact::is_coarse).
    exact::Step step = exact::Step::squares;
    float exponent = 0;  // of powers
    // Words in panels (direct_place; bits_place where the step counts bits), whole ones on both
    // sides.
    const float *queries = nullptr, *points = nullptr;
    const float* half_norm = nullptr;  // of each point
    // Of each query, from the first of all: its square, for the expanded form, and its size, where
    // bits are counted.
    const float *query_square = nullptr, *query_size = nullptr;
    std::int64_t width = 0;  // words of a row
    std::int64_t first_query = 0, q = 0, n = 0;
    float* values = nullptr;  // of (first_query + i, p) at values[i * n + p]; aligned to 16 bytes,
                              // as half_norm is
    cudaStream_t stream = nullptr;
};

// Tests let a texture hold less than the device lets it.
inline std::atomic<std::int64_t> most_texture_words = std::int64_t{1} << 30;

// By the kernel of that name. Throws invalid_argument where there is none, or it does not serve the
// step.
void distance_matrix(std::string_view kernel, const DistanceJob& job);

#define KITH_DISTANCES(function, name, values, what) void function(const DistanceJob& job);
#include "papers/distance/distance_kernels.def"
#undef KITH_DISTANCES

}  // namespace kith::gpu
