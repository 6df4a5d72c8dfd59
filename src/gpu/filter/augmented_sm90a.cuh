// Augmented vectors on Hopper (augmented.h): products whose sign says what passes; see fused_kernel_sm90a.cuh. How many
// MMAs a tile has is known to the compiler, one kernel for each, and another for passes over lists of tiles.
#pragma once

#include <array>
#include <type_traits>
#include <utility>

#include "gpu/filter/fused_kernel_sm90a.cuh"

namespace kith::gpu::sm90a {

__device__ __forceinline__ int bits_of(float x) {
    return __float_as_int(x);
}
__device__ __forceinline__ int bits_of(int x) {
    return x;
}
// The a of a candidate that passed with `difference` below its threshold.
__device__ __forceinline__ float value_of(float difference, float threshold) {
    return difference + threshold;
}
// The same of whole numbers, both in the bits of ints.
__device__ __forceinline__ float value_of(int difference, float threshold) {
    return __uint_as_float(static_cast<unsigned>(difference) + __float_as_uint(threshold));
}

// Appends the pairs of a thread's tile whose values are negative: see append_candidates of candidates.cuh, whose layout
// this is. One vote tells whether any of a warp's values is. Signs say it: the matrix units' NaN has none. Where nobody
// asks for the candidates' a, picking a thread's value out of sixteen is left out.
template <bool says_values, class Sum>
__device__ __forceinline__ void append_negative(const Sum (&v)[64], const ThreadTile& tile, std::uint32_t lower_row,
                                                WarpList& list, const FilterPass& pass) {
    int signs[4] = {};
#pragma unroll
    for (int i = 0; i < 64; ++i) signs[i / 16] |= bits_of(v[i]);
    if (!__any_sync(0xffffffffu, (signs[0] | signs[1] | signs[2] | signs[3]) < 0)) return;
#pragma unroll
    for (int group = 0; group < 4; ++group) {
        if (!__any_sync(0xffffffffu, signs[group] < 0)) continue;
        const Sum* const values = v + group * 16;
        std::uint32_t low = 0, high = 0;
#pragma unroll
        for (int i = 7; i >= 0; --i) {
            low = __funnelshift_l(static_cast<unsigned>(bits_of(values[i])), low, 1);
            high = __funnelshift_l(static_cast<unsigned>(bits_of(values[i + 8])), high, 1);
        }
        const std::uint32_t mask = low | high << 8;
        append_to_list(mask, values, list, pass, [&](Sum difference, int i, Candidate& entry, std::uint32_t& query) {
            const bool lower = i & 2;
            entry = {says_values ? value_of(difference, lower ? tile.lower_threshold : tile.upper_threshold) : 0.0f,
                     tile.column + static_cast<std::uint32_t>(group * 4 + i / 4) * 8 + i % 2};
            query = lower ? lower_row : tile.row;
        });
    }
}

// Appends candidates of the rows.
template <bool says_values>
struct AppendNegative : Epilogue {
    ThreadTile thread_tile;
    std::uint32_t lower_row;
    __device__ AppendNegative(const FilterPass& pass, const SurePairs&, int row)
        : thread_tile{query_of_row(pass, row), 0, 0, 0}, lower_row(query_of_row(pass, row + 8)) {
        if (row < pass.q) thread_tile.upper_threshold = pass.threshold[row];
        if (row + 8 < pass.q) thread_tile.lower_threshold = pass.threshold[row + 8];
    }
    template <class Sum>
    __device__ void apply(const Sum (&d)[64], const ThreadValues& values, WarpList& list, const FilterPass& pass) {
        thread_tile.column = static_cast<std::uint32_t>(static_cast<int>(pass.first) + values.column);
        append_negative<says_values>(d, thread_tile, lower_row, list, pass);
    }
};

template <class Arithmetic, Start start, int steps, bool listed, bool says_values>
constexpr FusedKernel* augmented_kernel =
    fused_sm_90a<Mainloop<Arithmetic, start, FixedSteps<steps>, listed>, AppendNegative<says_values>>;

// By the steps of an MMA, less one.
template <class Arithmetic, Start start = Start::terms, bool listed = false>
constexpr auto augmented_kernels = []<int... i>(std::integer_sequence<int, i...>) {
    return std::array<FusedKernel*, sizeof...(i)>{
        augmented_kernel<Arithmetic, start, i + 1, listed, std::is_same_v<Arithmetic, Halves>>...};
}
(std::make_integer_sequence<int, most_resident_steps>{});

}  // namespace kith::gpu::sm90a
