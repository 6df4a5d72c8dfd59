// The few operations that a metric's step may use, for one scalar on host and device;
// src/cpu/simd/vector_ops-inl.h has the same set for SIMD vectors. All are correctly rounded or
// exact, or built here from such: the same bits everywhere.
#pragma once

#include "metric/portable.h"

namespace kith {

// Scalar operations, T = float or double.
template <class T>
struct ScalarOps {
    using V = T;
    using M = bool;
    KITH_HD static V set(double c) { return static_cast<T>(c); }
    KITH_HD static V add(V a, V b) { return a + b; }
    KITH_HD static V sub(V a, V b) { return a - b; }
    KITH_HD static V mul(V a, V b) { return a * b; }
    KITH_HD static V div(V a, V b) { return a / b; }
    KITH_HD static V fma(V a, V b, V c) { return fused(a, b, c); }
    KITH_HD static V abs(V a) { return a < 0 ? -a : (a == 0 ? T(0) : a); }
    KITH_HD static V max(V a, V b) { return a < b ? b : a; }
    KITH_HD static V sqrt(V a) {
#if defined(__CUDA_ARCH__)
        if constexpr (sizeof(T) == 8) return __dsqrt_rn(a);
        else return __fsqrt_rn(a);
#else
        if constexpr (sizeof(T) == 8) return __builtin_sqrt(a);
        else return __builtin_sqrtf(a);
#endif
    }
    KITH_HD static M eq(V a, V b) {
        return a == b;
    }
    KITH_HD static V select(M m, V yes, V no) {
        return m ? yes : no;
    }
    // `likely` where m, else f(a, b): for what hardly any lane needs.
    template <class F>
    KITH_HD static V unless(M m, V likely, F f, V a, V b) {
        return m ? likely : f(a, b);
    }
    // f(lane), f(lane, lane) for every lane, f a scalar function of portable operations.
    template <class F>
    KITH_HD static V map(F f, V a) {
        return f(a);
    }
    template <class F>
    KITH_HD static V map2(F f, V a, V b) {
        return f(a, b);
    }
};

}  // namespace kith
