// Augmented vectors: a pair's value less its query's threshold as one product, so that the sign
// says what passes.
//
// To the coordinates of a point and of a query come `augmented_terms` numbers in bf16, whose
// products the matrix units add first: (h1, h2, h3, 1, 1, 1, 0, 0) of a point with the half norm h
// = h1 + h2 + h3, and (-1, -1, -1, t1, t2, t3, 0, 0) of a query with the threshold T = t1 + t2 +
// t3. Accumulators need no initial value, and a - T < 0 shows in a bit of each: one LOP3 looks at
// two values, where FMNMX takes one at half the rate.
//
// Three terms of eight bits hold an f32 exactly, and bf16 has its range. What the terms cost the
// bound stands in docs/exactness.md, section 7: the products are of `augmented_step` coordinates
// more (FilterForm::gamma), and gamma |T| more is charged to the query, whose E and T grow here.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "gpu/filter/levels.h"

namespace kith::gpu {

// Numbers of a row's terms in memory, and what the matrix units multiply.
inline constexpr int augmented_terms = 8, augmented_step = 16;

// Rows of the terms of q queries: whole tiles for both blocks of a cluster, which copy them
// unasked.
constexpr std::int64_t augmented_query_rows(std::int64_t q) {
    return whole_query_tiles(q + filter_tile_queries) / (2 * filter_tile_queries) *
           (2 * filter_tile_queries);
}

// Terms of `count` points, a multiple of filter_tile_points: rows of augmented_terms numbers.
void augment_points(const float* half_norm, std::int64_t count, void* terms, cudaStream_t stream);

// Of q queries, with augmented_query_rows(q) rows: those past q pass nothing. The threshold of each
// grows by as much as its share of the error does, whose part without thresholds is base_error; a
// pair with a = T passes.
void augment_queries(std::int64_t q, double gamma, const float* base_error, float* threshold,
                     float* error, void* terms, cudaStream_t stream);

}  // namespace kith::gpu
