// Comparison of many values with one threshold for one instruction set: 64 values to a word of bits, one branch for the
// word, which in a long row is almost always zero.
#pragma once

#include "cpu/primitives/within.h"
#include "cpu/simd/vector_ops-inl.h"

namespace kith::cpu::KITH_TARGET {
namespace {

// A bit for each lane that is within the threshold.
template <class T, bool largest>
KITH_HD std::uint64_t lanes_within(typename VectorOps<T>::V value, typename VectorOps<T>::V threshold) {
#if KITH_LEVEL == 2
    constexpr int test = largest ? _CMP_GE_OQ : _CMP_LE_OQ;
    if constexpr (sizeof(T) == 8) return _mm512_cmp_pd_mask((__m512d)value, (__m512d)threshold, test);
    else return _mm512_cmp_ps_mask((__m512)value, (__m512)threshold, test);
#elif KITH_LEVEL == 1
    constexpr int test = largest ? _CMP_GE_OQ : _CMP_LE_OQ;
    if constexpr (sizeof(T) == 8)
        return static_cast<unsigned>(_mm256_movemask_pd(_mm256_cmp_pd((__m256d)value, (__m256d)threshold, test)));
    else return static_cast<unsigned>(_mm256_movemask_ps(_mm256_cmp_ps((__m256)value, (__m256)threshold, test)));
#elif defined(__x86_64__)
    const auto within = largest ? value >= threshold : value <= threshold;
    if constexpr (sizeof(T) == 8) return static_cast<unsigned>(_mm_movemask_pd((__m128d)within));
    else return static_cast<unsigned>(_mm_movemask_ps((__m128)within));
#else
    std::uint64_t mask = 0;
    for (int i = 0; i < VectorOps<T>::lanes; ++i)
        mask |= std::uint64_t{largest ? value[i] >= threshold[i] : value[i] <= threshold[i]} << i;
    return mask;
#endif
}

template <class T, bool largest>
std::int64_t positions_within(const T* values, std::int64_t count, T threshold, std::uint32_t* positions) {
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
        for (; mask; mask &= mask - 1) *out++ = static_cast<std::uint32_t>(i + __builtin_ctzll(mask));
    }
    for (; i < count; ++i) {
        *out = static_cast<std::uint32_t>(i);
        out += largest ? values[i] >= threshold : values[i] <= threshold;
    }
    return out - positions;
}

template <class T>
std::int64_t within(const T* values, std::int64_t count, T threshold, bool largest, std::uint32_t* positions) {
    return largest ? positions_within<T, true>(values, count, threshold, positions)
                   : positions_within<T, false>(values, count, threshold, positions);
}

constexpr WithinKernels within_of_target{within<float>, within<double>};

}  // namespace

const WithinKernels& within_kernel_table() {
    return within_of_target;
}

}  // namespace kith::cpu::KITH_TARGET
