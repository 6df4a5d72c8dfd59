// Comparison of the lanes of a vector with a threshold, as bits.
#pragma once

#include "cpu/simd/vector_ops-inl.h"

namespace kith::cpu::KITH_TARGET {
namespace {

// A bit for each lane that is within the threshold.
template <class T, bool largest>
KITH_HD std::uint64_t lanes_within(typename VectorOps<T>::V value,
                                   typename VectorOps<T>::V threshold) {
#if KITH_LEVEL == 2
    constexpr int test = largest ? _CMP_GE_OQ : _CMP_LE_OQ;
    if constexpr (sizeof(T) == 8)
        return _mm512_cmp_pd_mask((__m512d)value, (__m512d)threshold, test);
    else return _mm512_cmp_ps_mask((__m512)value, (__m512)threshold, test);
#elif KITH_LEVEL == 1
    constexpr int test = largest ? _CMP_GE_OQ : _CMP_LE_OQ;
    if constexpr (sizeof(T) == 8)
        return static_cast<unsigned>(
            _mm256_movemask_pd(_mm256_cmp_pd((__m256d)value, (__m256d)threshold, test)));
    else
        return static_cast<unsigned>(
            _mm256_movemask_ps(_mm256_cmp_ps((__m256)value, (__m256)threshold, test)));
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

}  // namespace
}  // namespace kith::cpu::KITH_TARGET
