// The contract of a distance kernel: the matrix of f32 values of some queries with all points of a
// chunk.
//
// A value is that of the direct filter (gpu/filter/direct/direct.h, docs/proofs/direct.md, lemma
// 3). It is the metric's sum (or maximum, or quotient of sums) over the words of both rows, in any
// order, at most f32's largest number, plus the point's half norm. For bits it is their count, with
// the rows' sizes. So the filter's bound holds for every kernel. Kernels of the expanded form
// (DistanceKernel::expanded) have their own half norms, squares of queries and bound (expanded.h).
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <cstdint>
#include <string_view>

#include "exact/direct_form.h"
#include "papers/distance/distance_kernels.h"

namespace kith::gpu {

struct DistanceJob {
    // Any step that the GPU's direct filter has for words that are not coarse (exact::is_coarse).
    exact::Step step = exact::Step::squares;
    float exponent = 0;  // of powers
    // Words in panels (direct_place; bits_place if the step counts bits), whole panels on both
    // sides.
    const float *queries = nullptr, *points = nullptr;
    const float* half_norm = nullptr;  // of each point
    // Per query, from the first of all: its square, for the expanded form, and its size, if bits
    // are counted.
    const float *query_square = nullptr, *query_size = nullptr;
    std::int64_t width = 0;  // words of a row
    std::int64_t first_query = 0, q = 0, n = 0;
    // The value of (first_query + i, p) is values[i * n + p]; aligned to 16 bytes, like half_norm.
    float* values = nullptr;
    bool by_column = false;  // in place of that values[p * q + i]; garcia alone
    cudaStream_t stream = nullptr;
};

// Tests limit the words of a texture below the device's own limit.
inline std::atomic<std::int64_t> most_texture_words = std::int64_t{1} << 30;

// Runs the kernel of this name. Throws invalid_argument if there is none, or if it does not serve
// the step.
void distance_matrix(std::string_view kernel, const DistanceJob& job);

#define KITH_DISTANCES(function, name, values, what) void function(const DistanceJob& job);
#include "papers/distance/distance_kernels.def"
#undef KITH_DISTANCES

}  // namespace kith::gpu
