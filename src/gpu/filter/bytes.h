// Vectors of the fused filter as whole numbers of 8 bits (docs/exactness.md, section 11): half of
// the bytes, products at twice the rate of fp16's, and sums that are exact. They bound what fp16
// would say from below.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "gpu/filter/pass.h"
#include "gpu/filter/projection.h"

namespace kith::gpu {

// Values in units of step^2. Numbers of queries are negated: a pair passes when its sum + half_norm
// <= threshold, none of which leaves int. Sums of most_byte_width products are within 2^26. A point
// that is nobody's neighbour and one that every query has to look at have half norms that no sum
// and no threshold but `never` changes.
struct ByteLimits {
    static constexpr int largest = 2147483647, never = -2147483647;
    static constexpr int excluded = 1900000000, always = -1900000000;
    static constexpr int everything = 1500000000,
                         nothing = -1800000000;  // thresholds of all that is not `excluded`;
                                                 // of what is `always`
    static constexpr double finite = 1e9;        // of half norms and other thresholds
};

// Numbers of a row: whole K steps of the matrix units.
inline std::int64_t byte_width(std::int64_t columns) {
    return (columns + 31) / 32 * 32;
}
inline constexpr std::int64_t most_byte_width = 4096;

// As project_points(), project_queries() and projected_thresholds(), of directions.bytes: half
// norms and thresholds are ints. What queries add to their thresholds may be of either sign.
void round_points(const Directions& directions, const __half* vectors, const Along& along,
                  const float* half_norm, std::int64_t first, std::int64_t count, std::int64_t n,
                  std::int8_t* out, int* out_half_norm, cudaStream_t stream);
void round_queries(const Directions& directions, const __half* vectors, const Along& along,
                   std::int64_t first, std::int64_t count, std::int8_t* out, float* error,
                   cudaStream_t stream);
// Half norms of places without a point.
void fill_excluded(float* half_norm, std::int64_t count, cudaStream_t stream);
void byte_thresholds(const float* threshold, const float* error, const std::uint8_t* overflowed,
                     std::int64_t q, double step, int* out, cudaStream_t stream);

// One pass over such vectors (sm_90a alone), of which FilterPass::width counts pairs of numbers;
// half norms and thresholds are the ints above. Neither `all` nor columns that are queries. With
// FilterPass::point_terms half norms and thresholds are terms of the sums, as of augmented vectors
// (augmented.h): then a pair passes whose sum is negative.
void bytes_pass_sm_90a(const FilterPass& pass, cudaStream_t stream);
void augmented_bytes_pass_sm_90a(const FilterPass& pass, cudaStream_t stream);

// Terms: planes of byte_terms numbers a row, half of all for half norms and half for thresholds. Of
// a half norm h and a threshold T less `base` they hold h - T - 1 exactly, as digits times 127 each
// and one times 1, within +- reach(); padding rows pass nothing. One plane or two go with an MMA of
// their own, wide_planes with two.
inline constexpr int byte_terms = 16, wide_planes = 4;
struct ByteTerms {
    int planes = 1, base = 0;
    KITH_HD int reach() const { return (8 * planes - 1) * 127 * 127; }
};
// The widest vectors with a kernel for them.
inline constexpr std::int64_t most_augmented_bytes = 512;

// Of half norms of n points that are not `excluded` the least, and the largest but for one in
// `one_beyond` of the first points; and how many are `always`. Synchronises.
struct ByteRange {
    int least = 0, most = 0;
    std::int64_t always = 0;
};
ByteRange byte_range(const int* half_norm, std::int64_t n, std::int64_t one_beyond,
                     cudaStream_t stream);
// How many of those are more than `highest`. Synchronises.
std::int64_t count_beyond(const int* half_norm, std::int64_t n, int highest, cudaStream_t stream);
// Of `count` points, whole tiles: half norms further above the base than terms reach are lowered.
void augment_byte_points(const int* half_norm, std::int64_t count, ByteTerms form, void* terms,
                         cudaStream_t stream);
// Of q queries, with augmented_query_rows(q) rows. Initialises counts: 0, or `full` of a query
// whose threshold lies higher than terms reach, which passes nothing.
void augment_byte_queries(const int* threshold, std::int64_t q, ByteTerms form, std::int32_t full,
                          std::int32_t* counts, void* terms, cudaStream_t stream);
// Terms of queries, whose planes are `plane` bytes apart, as `count` rows of which each is that of
// query[i], or passes nothing where that is no_query (cells.h); their planes are count * byte_terms
// bytes apart.
void gather_byte_terms(const void* terms, std::int64_t plane, ByteTerms form,
                       const std::uint32_t* query, std::int64_t count, void* out,
                       cudaStream_t stream);
// For a pass of such queries, with augmented_query_rows(pass.q) rows of terms, and points.
void use_byte_terms(ByteTerms form, const void* query_terms, const void* point_terms,
                    FilterPass& pass);

}  // namespace kith::gpu
