// Vectors with bias columns (augmented vectors): one product yields a pair's value less its query's
// threshold, so that the sign marks the candidates.
//
// Points and queries get `augmented_terms` additional numbers in bf16, and the matrix units add
// their products first. A point with half norm h = h1 + h2 + h3 has (h1, h2, h3, 1, 1, 1, 0, 0). A
// query with threshold T = t1 + t2 + t3 has (-1, -1, -1, t1, t2, t3, 0, 0). Accumulators need no
// initial value, and a - T < 0 shows in the sign bit: one LOP3 tests two values, while FMNMX takes
// one at half the rate.
//
// Three terms of eight bits hold an f32 exactly, and bf16 has its range.
// docs/proofs/products-gpu.md, lemma 4, derives the effect on the bound. The products have
// `augmented_step` more coordinates (FilterForm::gamma). gamma |T| more is charged to the query, so
// its E and T grow here.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "gpu/filter/levels.h"

namespace kith::gpu {

// Numbers of a row's terms in memory, and the depth of the MMA step that multiplies them.
inline constexpr int augmented_terms = 8, augmented_step = 16;

// Rows of the terms of q queries: whole tiles for both blocks of a cluster, which copy them
// unconditionally.
constexpr std::int64_t augmented_query_rows(std::int64_t q) {
    return whole_query_tiles(q + filter_tile_queries) / (2 * filter_tile_queries) *
           (2 * filter_tile_queries);
}

// Terms of `count` points, a multiple of filter_tile_points: rows of augmented_terms numbers.
void augment_points(const float* half_norm, std::int64_t count, void* terms, cudaStream_t stream);

// Terms of q queries, with augmented_query_rows(q) rows: rows past q pass nothing. A query's
// `error` grows to at least base_error + gamma |T|; base_error is its share of the error without
// thresholds. Its threshold grows by twice as much, and by slack for rounding. A pair with a = T
// passes.
void augment_queries(std::int64_t q, double gamma, const float* base_error, float* threshold,
                     float* error, void* terms, cudaStream_t stream);

}  // namespace kith::gpu
