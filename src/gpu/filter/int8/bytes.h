// int8 vectors of the fused filter (docs/proofs/int8.md, lemma 1). They take half the bytes of
// fp16, have twice its product rate, and their sums are exact. Their values are lower bounds of the
// fp16 values.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "gpu/filter/pass.h"
#include "gpu/filter/pca/projection.h"

namespace kith::gpu {

// Values are in units of step^2. Queries are negated: a pair is a candidate if its sum + half_norm
// <= threshold, and none of these leaves int. Sums of most_byte_width products are within 2^26.
//
// Sentinels for half norms: `excluded` passes no threshold (a NaN point), `always` passes every one
// except `never` (an uncovered point). No sum changes either result.
struct ByteLimits {
    static constexpr int largest = 2147483647, never = -2147483647;
    static constexpr int excluded = 1900000000, always = -1900000000;
    static constexpr int
        everything = 1500000000,
        nothing = -1800000000;  // thresholds: passes all but `excluded`; passes only `always`
    static constexpr double finite = 1e9;  // limit of regular half norms and thresholds
};

// Values per row: whole K steps of the matrix units.
inline std::int64_t byte_width(std::int64_t columns) {
    return (columns + 31) / 32 * 32;
}
inline constexpr std::int64_t most_byte_width = 4096;

// Like project_points(), project_queries() and projected_thresholds(), for directions.bytes: half
// norms and thresholds are ints. A query's addition to its threshold may have either sign.
void round_points(const Directions& directions, const __half* vectors, const Along& along,
                  const float* half_norm, std::int64_t first, std::int64_t count, std::int64_t n,
                  std::int8_t* out, int* out_half_norm, cudaStream_t stream);
void round_queries(const Directions& directions, const __half* vectors, const Along& along,
                   std::int64_t first, std::int64_t count, std::int8_t* out, float* error,
                   cudaStream_t stream);
// Fills half norms of padding positions.
void fill_excluded(float* half_norm, std::int64_t count, cudaStream_t stream);
void byte_thresholds(const float* threshold, const float* error, const std::uint8_t* overflowed,
                     std::int64_t q, double step, int* out, cudaStream_t stream);

// A sweep over int8 vectors (Format::int8) runs on sm_90a only. Operands::width counts pairs of
// values; half norms and thresholds are the ints above. Sink::all and column_threshold are not
// supported. With Operands::point_terms, half norms and thresholds are bias columns of the sums
// (augmented.h), and a pair with a negative sum is a candidate.

// Bias columns: planes of byte_terms values per row, one half of them for the half norms and one
// for the thresholds. For a half norm h and a threshold T, both less `base`, they hold h - T - 1
// exactly, within +- reach(). Each digit is multiplied by 127, the last by 1. Padding rows pass
// nothing. One or two planes take one MMA, wide_planes take two.
inline constexpr int byte_terms = 16, wide_planes = 4;
struct ByteTerms {
    int planes = 1, base = 0;
    KITH_HD int reach() const { return (8 * planes - 1) * 127 * 127; }
};
// The widest vectors that these kernels support.
inline constexpr std::int64_t most_augmented_bytes = 512;

// The range of the half norms of n points that are not `excluded`, and the number of `always`.
// `most` is the largest but for one in `one_beyond`, from a sample of the first points.
// Synchronises.
struct ByteRange {
    int least = 0, most = 0;
    std::int64_t always = 0;
};
ByteRange byte_range(const int* half_norm, std::int64_t n, std::int64_t one_beyond,
                     cudaStream_t stream);
// The number of these half norms above `highest`. Synchronises.
std::int64_t count_beyond(const int* half_norm, std::int64_t n, int highest, cudaStream_t stream);
// Bias columns of `count` points, in whole tiles. Half norms beyond the reach are lowered to it.
void augment_byte_points(const int* half_norm, std::int64_t count, ByteTerms form, void* terms,
                         cudaStream_t stream);
// Bias columns of q queries, with augmented_query_rows(q) rows. Initialises counts to 0, or to
// `full` for a query with a threshold beyond the reach, which passes nothing.
void augment_byte_queries(const int* threshold, std::int64_t q, ByteTerms form, std::int32_t full,
                          std::int32_t* counts, void* terms, cudaStream_t stream);
// Gathers the bias columns of queries: output row i is that of query[i], or passes nothing if
// query[i] is no_query (cells.h). Input planes are `plane` bytes apart, output planes count *
// byte_terms bytes.
void gather_byte_terms(const void* terms, std::int64_t plane, ByteTerms form,
                       const std::uint32_t* query, std::int64_t count, void* out,
                       cudaStream_t stream);
// Sets up a pass over such queries, with augmented_query_rows(pass.q) rows of terms, and points.
void use_byte_terms(ByteTerms form, const void* query_terms, const void* point_terms,
                    FilterPass& pass);

}  // namespace kith::gpu
