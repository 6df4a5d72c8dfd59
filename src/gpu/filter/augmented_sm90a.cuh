// Augmented vectors on Hopper (augmented.h): products whose sign says what passes; see
// fused_kernel_sm90a.cuh. How many MMAs a tile has is known to the compiler, one kernel for each,
// and another for passes over lists of tiles.
#pragma once

#include <array>
#include <type_traits>
#include <utility>

#include "gpu/filter/fused_kernel_sm90a.cuh"

namespace kith::gpu::sm90a {

// The a of a candidate that passed with `difference` below its threshold.
template <class Sum>
__device__ __forceinline__ float value_of(int difference, float threshold) {
    // Of whole numbers, both are in the bits of ints.
    if constexpr (std::is_same_v<Sum, int>)
        return __uint_as_float(static_cast<unsigned>(difference) + __float_as_uint(threshold));
    else return __int_as_float(difference) + threshold;
}

// What append_exchanged() asks of a thread's rows, whose values pass where they are negative; they
// lie as append_candidates of candidates.cuh has them. Where nobody asks for the candidates' a,
// thresholds are not looked at.
template <bool says_values, class Sum>
struct NegativeRows {
    float upper_threshold, lower_threshold;
    std::uint32_t upper_query, lower_query, column;

    __device__ NegativeRows of(unsigned lane, unsigned own) const {
        const int columns = static_cast<int>(lane % 4) - static_cast<int>(own % 4);
        return {says_values ? __shfl_sync(0xffffffffu, upper_threshold, lane) : 0.0f,
                says_values ? __shfl_sync(0xffffffffu, lower_threshold, lane) : 0.0f,
                __shfl_sync(0xffffffffu, upper_query, lane),
                __shfl_sync(0xffffffffu, lower_query, lane),
                column + static_cast<std::uint32_t>(2 * columns)};
    }
    __device__ std::uint32_t sixteen(const Sum (&v)[64], int first) const {
        std::uint32_t low = 0, high = 0;
#pragma unroll
        for (int i = first + 7; i >= first; --i) {
            low = __funnelshift_l(static_cast<unsigned>(bits_of(v[i])), low, 1);
            high = __funnelshift_l(static_cast<unsigned>(bits_of(v[i + 8])), high, 1);
        }
        return low | high << 8;
    }
    __device__ unsigned passing(const int4& four, unsigned) const {
        return (four.x < 0 ? 1u : 0u) | (four.y < 0 ? 2u : 0u) | (four.z < 0 ? 4u : 0u) |
               (four.w < 0 ? 8u : 0u);
    }
    __device__ void entry(int difference, unsigned i, Candidate& entry,
                          std::uint32_t& query) const {
        const bool lower = i & 2;
        entry = {says_values ? value_of<Sum>(difference, lower ? lower_threshold : upper_threshold)
                             : 0.0f,
                 column + i / 4 * 8 + i % 2};
        query = lower ? lower_query : upper_query;
    }
};

// Appends the pairs whose values are negative, of the rows. Signs say it: the matrix units' NaN has
// none.
template <bool says_values, bool exchanges>
struct AppendNegative : Epilogue {
    float upper_threshold = 0, lower_threshold = 0;
    std::uint32_t upper_query, lower_query;
    __device__ AppendNegative(const FilterPass& pass, const SurePairs&, int row)
        : upper_query(query_of_row(pass, row)), lower_query(query_of_row(pass, row + 8)) {
        if (row < pass.q) upper_threshold = pass.threshold[row];
        if (row + 8 < pass.q) lower_threshold = pass.threshold[row + 8];
    }
    template <class Sum>
    __device__ void apply(const Sum (&d)[64], const ThreadValues& values, WarpList& list,
                          const FilterPass& pass) {
        int signs[4] = {};
#pragma unroll
        for (int i = 0; i < 64; ++i) signs[i / 16] |= bits_of(d[i]);
        const unsigned holding =
            __ballot_sync(0xffffffffu, (signs[0] | signs[1] | signs[2] | signs[3]) < 0);
        if (holding == 0) return;
        unsigned hit = 0;
#pragma unroll
        for (int group = 0; group < 4; ++group)
            if (signs[group] < 0) hit |= 1u << group;
        const NegativeRows<says_values, Sum> rows{
            upper_threshold, lower_threshold, upper_query, lower_query,
            static_cast<std::uint32_t>(static_cast<int>(pass.first) + values.column)};
        if constexpr (exchanges)
            append_exchanged(d, hit, holding, values.exchange, list, pass, rows);
        else append_own(d, hit, list, pass, rows);
    }
};

template <class Arithmetic, Start start, int steps, bool listed, bool says_values>
constexpr FusedKernel* augmented_kernel =
    fused_sm_90a<Mainloop<Arithmetic, start, FixedSteps<steps>, listed>,
                 AppendNegative<says_values, appends_by_exchange(listed)>>;

// By the steps of an MMA, less one.
template <class Arithmetic, Start start = Start::terms, bool listed = false>
constexpr auto augmented_kernels = []<int... i>(std::integer_sequence<int, i...>) {
    return std::array<FusedKernel*, sizeof...(i)>{
        augmented_kernel<Arithmetic, start, i + 1, listed, std::is_same_v<Arithmetic, Halves>>...};
}
(std::make_integer_sequence<int, most_resident_steps>{});

}  // namespace kith::gpu::sm90a
