// Comparison of many values with one threshold for one instruction set: 64 values to a word of
// bits, one branch for the word, which in a long row is almost always zero.
#pragma once

#include "cpu/primitives/within.h"
#include "cpu/simd/lanes_within-inl.h"

namespace kith::cpu::KITH_TARGET {
namespace {

template <class T, bool largest>
std::int64_t positions_within(const T* values, std::int64_t count, T threshold,
                              std::uint32_t* positions) {
    using Ops = VectorOps<T>;
    constexpr int word = 64;
    const typename Ops::V thresholds = threshold - typename Ops::V{};
    std::uint32_t* out = positions;
    std::int64_t i = 0;
    for (; i + word <= count; i += word) {
        std::uint64_t mask = 0;
#pragma GCC unroll 32
        for (int lane = 0; lane < word; lane += Ops::lanes)
            mask |= lanes_within<T, largest>(Ops::load(values + i + lane), thresholds) << lane;
        for (; mask; mask &= mask - 1)
            *out++ = static_cast<std::uint32_t>(i + __builtin_ctzll(mask));
    }
    for (; i < count; ++i) {
        *out = static_cast<std::uint32_t>(i);
        out += largest ? values[i] >= threshold : values[i] <= threshold;
    }
    return out - positions;
}

template <class T>
std::int64_t within(const T* values, std::int64_t count, T threshold, bool largest,
                    std::uint32_t* positions) {
    return largest ? positions_within<T, true>(values, count, threshold, positions)
                   : positions_within<T, false>(values, count, threshold, positions);
}

constexpr WithinKernels within_of_target{within<float>, within<double>};

}  // namespace

const WithinKernels& within_kernel_table() {
    return within_of_target;
}

}  // namespace kith::cpu::KITH_TARGET
