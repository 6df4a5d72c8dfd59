// The steps of a job, the layout of their words, and the value of a pair: the direct filter's own,
// so that its bound holds.
#pragma once

#include <type_traits>

#include "gpu/filter/direct/bit_panels.h"
#include "gpu/filter/direct/bits_value.cuh"
#include "gpu/filter/direct/direct.h"
#include "gpu/filter/direct/direct_steps.cuh"
#include "gpu/filter/direct/norm_steps.cuh"
#include "gpu/primitives/f32.h"
#include "kith/error.h"
#include "papers/distance/distance.h"

namespace kith::gpu::distance {

// For rows of bits: the bits in common (exact::counts_bits).
struct CommonBitsStep : direct::AnyStep {
    using Acc = int;
    __device__ static void step(int& a, float q, float x, float) {
        a += __popc(__float_as_uint(q) & __float_as_uint(x));
    }
};

template <class Step>
inline constexpr bool counts_bits = std::is_same_v<Step, CommonBitsStep>;
template <class Step>
inline constexpr bool is_norm = false;
template <class Norm>
inline constexpr bool is_norm<direct::NormStep<Norm>> = true;

// The place of a row's first word, and of word i relative to it; panels of bits have runs of four
// words.
template <class Step>
__device__ __forceinline__ std::int64_t row_place(std::int64_t row, std::int64_t width) {
    return counts_bits<Step> ? bits_place(row, 0, width) : direct_place(row, 0, width);
}
template <class Step, class Index>
__device__ __forceinline__ Index word_place(Index i) {
    constexpr auto rows = static_cast<Index>(filter_tile_queries),
                   run = static_cast<Index>(bits_run);
    return counts_bits<Step> ? i / run * run * rows + i % run : i * rows;
}

// A sum that overflowed stays below the +inf of points with a NaN. A point that the bound does not
// cover has -inf, whatever its words are, NaN included.
__device__ __forceinline__ float value_of(float sum, float half_norm) {
    return fminf(sum, largest_f32) + half_norm;
}
// The value of a pair from its accumulator; `size`: size_of_query.
template <class Step>
__device__ __forceinline__ float pair_value(exact::Step step, typename Step::Acc sum, float size,
                                            float half_norm) {
    if constexpr (counts_bits<Step>)
        return direct::bits_value(step, static_cast<float>(sum), size, half_norm);
    else return value_of(Step::finish(sum), half_norm);
}
// The number of bits set in a query, from DistanceJob::first_query on; 0 unless bits are counted.
template <class Step>
__device__ __forceinline__ float size_of_query(const DistanceJob& job, std::int64_t query) {
    if constexpr (counts_bits<Step>) return job.query_size[job.first_query + query];
    else return 0;
}
// Writes the value of a query, from DistanceJob::first_query on, with a point.
template <class Step>
__device__ __forceinline__ void store_value(const DistanceJob& job, std::int64_t query,
                                            std::int64_t point, typename Step::Acc sum) {
    job.values[query * job.n + point] =
        pair_value<Step>(job.step, sum, size_of_query<Step>(job, query), job.half_norm[point]);
}

// Likewise in a matrix by column (DistanceJob::by_column).
template <class Step>
__device__ __forceinline__ void store_in_column(const DistanceJob& job, std::int64_t query,
                                                std::int64_t point, typename Step::Acc sum) {
    job.values[point * job.q + query] =
        pair_value<Step>(job.step, sum, size_of_query<Step>(job, query), job.half_norm[point]);
}

// Calls launch.operator()<Norm>() for a job's sum (or maximum) of powers of differences.
template <class Launch>
void with_norm(exact::Step step, Launch launch) {
    using exact::Step;
    if (step == Step::squares) launch.template operator()<steps::Squares>();
    else if (step == Step::cityblock) launch.template operator()<steps::Cityblock>();
    else if (step == Step::chebyshev) launch.template operator()<steps::Chebyshev>();
    else if (step == Step::cubes) launch.template operator()<steps::Cubes>();
    else if (step == Step::fourths) launch.template operator()<steps::Fourths>();
    else if (step == Step::powers) launch.template operator()<steps::Powers>();
    else throw Error(ErrorCode::invalid_argument, "distances: no kernel has that step");
}

// Calls launch.operator()<Step>() for a job's step, one of direct_steps.cuh or CommonBitsStep.
template <class Launch>
void with_step(exact::Step step, Launch launch) {
    using exact::Step;
    if (step == Step::quotients) launch.template operator()<direct::QuotientsStep>();
    else if (step == Step::quotient) launch.template operator()<direct::QuotientStep>();
    else if (step == Step::mismatches) launch.template operator()<direct::MismatchStep>();
    else if (step == Step::mismatched_bytes) launch.template operator()<direct::ByteStep>();
    else if (step == Step::divergence) launch.template operator()<direct::DivergenceStep>();
    else if (exact::counts_bits(step)) launch.template operator()<CommonBitsStep>();
    else
        with_norm(step,
                  [&]<class Norm>() { launch.template operator()<direct::NormStep<Norm>>(); });
}

}  // namespace kith::gpu::distance
