// The operations of metric/ops.h on SIMD vectors: the compiler's vector types, with intrinsics
// where those have no operator.
//
// Not Highway: the one that Debian 12 has no SSE2 target, and a metric's step must be compiled
// under the target's pragma.
#pragma once

#include "metric/ops.h"

namespace kith::cpu::KITH_TARGET {
namespace {

inline constexpr int vector_bytes = KITH_LEVEL == 2 ? 64 : KITH_LEVEL == 1 ? 32 : 16;

template <class T>
struct Lanes {
    using Int = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;
    typedef T V __attribute__((vector_size(vector_bytes)));
    typedef T Unaligned __attribute__((vector_size(vector_bytes), aligned(alignof(T)), may_alias));
    typedef Int M __attribute__((vector_size(vector_bytes)));
};

template <class T>
struct VectorOps {
    using V = typename Lanes<T>::V;
    using M = typename Lanes<T>::M;
    using Int = typename Lanes<T>::Int;
    static constexpr int lanes = vector_bytes / static_cast<int>(sizeof(T));

    KITH_HD static V zero() { return V{}; }
    KITH_HD static V set(double c) { return static_cast<T>(c) - V{}; }
    KITH_HD static V load(const T* p) {
        return *reinterpret_cast<const typename Lanes<T>::Unaligned*>(p);
    }
    KITH_HD static void store(T* p, V v) {
        *reinterpret_cast<typename Lanes<T>::Unaligned*>(p) = v;
    }
    // The first `width` < lanes elements, then zeros; touches nothing beyond them.
    KITH_HD static V load_part(const T* p, int width) {
        V v{};
        std::memcpy(&v, p, static_cast<std::size_t>(width) * sizeof(T));
        return v;
    }
    KITH_HD static void store_part(T* p, V v, int width) {
        std::memcpy(p, &v, static_cast<std::size_t>(width) * sizeof(T));
    }
    // Lanes below `width`.
    KITH_HD static M first(int width) {
        M index;
        for (int i = 0; i < lanes; ++i) index[i] = i;
        return index < (static_cast<Int>(width) - M{});
    }

    KITH_HD static V add(V a, V b) { return a + b; }
    KITH_HD static V sub(V a, V b) { return a - b; }
    KITH_HD static V mul(V a, V b) { return a * b; }
    KITH_HD static V div(V a, V b) { return a / b; }
    KITH_HD static V max(V a, V b) { return a < b ? b : a; }
    KITH_HD static M eq(V a, V b) { return a == b; }
    KITH_HD static V select(M m, V yes, V no) { return m ? yes : no; }
    KITH_HD static V abs(V a) { return (V)((M)a & (std::numeric_limits<Int>::max() - M{})); }

    KITH_HD static V fma(V a, V b, V c) {
#if KITH_LEVEL == 2
        if constexpr (sizeof(T) == 8) return (V)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
        else return (V)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif KITH_LEVEL == 1
        if constexpr (sizeof(T) == 8) return (V)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
        else return (V)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
        V r;
        for (int i = 0; i < lanes; ++i) r[i] = fused(a[i], b[i], c[i]);
        return r;
#endif
    }
    KITH_HD static V sqrt(V a) {
#if KITH_LEVEL == 2
        if constexpr (sizeof(T) == 8) return (V)_mm512_maskz_sqrt_pd(0xff, (__m512d)a);
        else return (V)_mm512_maskz_sqrt_ps(0xffff, (__m512)a);
#elif KITH_LEVEL == 1
        if constexpr (sizeof(T) == 8) return (V)_mm256_sqrt_pd((__m256d)a);
        else return (V)_mm256_sqrt_ps((__m256)a);
#else
        V r;
        for (int i = 0; i < lanes; ++i) r[i] = ScalarOps<T>::sqrt(a[i]);
        return r;
#endif
    }

    KITH_HD static bool all(M m) {
#if KITH_LEVEL == 2
        if constexpr (sizeof(T) == 8) return _mm512_test_epi64_mask((__m512i)m, (__m512i)m) == 0xff;
        else return _mm512_test_epi32_mask((__m512i)m, (__m512i)m) == 0xffff;
#elif KITH_LEVEL == 1
        return _mm256_movemask_epi8((__m256i)m) == -1;
#else
        Int all = -1;
        for (int i = 0; i < lanes; ++i) all &= m[i];
        return all != 0;
#endif
    }
    template <class F>
    KITH_HD static V unless(M m, V likely, F f, V a, V b) {
        return all(m) ? likely : select(m, likely, map2(f, a, b));
    }

    // The scalar function on every lane, as a loop that the compiler turns back into vector code.
    template <class F>
    KITH_HD static V map(F f, V a) {
        alignas(vector_bytes) T lane[lanes];
        store(lane, a);
        for (int i = 0; i < lanes; ++i) lane[i] = f(lane[i]);
        return load(lane);
    }
    template <class F>
    KITH_HD static V map2(F f, V a, V b) {
        alignas(vector_bytes) T left[lanes], right[lanes];
        store(left, a);
        store(right, b);
        for (int i = 0; i < lanes; ++i) left[i] = f(left[i], right[i]);
        return load(left);
    }
};

#if KITH_LEVEL == 2
template <>
KITH_HD VectorOps<double>::V VectorOps<double>::load_part(const double* p, int width) {
    return (V)_mm512_maskz_loadu_pd(static_cast<__mmask8>((1u << width) - 1), p);
}
template <>
KITH_HD void VectorOps<double>::store_part(double* p, V v, int width) {
    _mm512_mask_storeu_pd(p, static_cast<__mmask8>((1u << width) - 1), (__m512d)v);
}
template <>
KITH_HD VectorOps<float>::V VectorOps<float>::load_part(const float* p, int width) {
    return (V)_mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << width) - 1), p);
}
#elif KITH_LEVEL == 1
template <>
KITH_HD VectorOps<double>::V VectorOps<double>::load_part(const double* p, int width) {
    return (V)_mm256_maskload_pd(p, (__m256i)first(width));
}
template <>
KITH_HD void VectorOps<double>::store_part(double* p, V v, int width) {
    _mm256_maskstore_pd(p, (__m256i)first(width), (__m256d)v);
}
template <>
KITH_HD VectorOps<float>::V VectorOps<float>::load_part(const float* p, int width) {
    return (V)_mm256_maskload_ps(p, (__m256i)first(width));
}
#endif

}  // namespace
}  // namespace kith::cpu::KITH_TARGET
