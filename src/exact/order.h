// The total order of values as unsigned keys: comparing keys compares values, -0 equals +0, NaN
// comes after everything.
#pragma once

#include <cstdint>

#include "metric/ops.h"

namespace kith::exact {

template <class T>
struct Order;

template <>
struct Order<float> {
    using Key = std::uint32_t;
    static constexpr Key nan = 0xffffffffu;
    // `flip` orders the largest first.
    KITH_HD static Key key(float v, bool flip = false) {
        if (v != v) return nan;
#if defined(__CUDA_ARCH__)
        const Key u = __float_as_uint(v + 0.0f);
#else
        const Key u = __builtin_bit_cast(Key, v + 0.0f);
#endif
        const Key ascending = u & 0x80000000u ? ~u : u | 0x80000000u;
        return flip ? ~ascending : ascending;
    }
    // The value of a key, NaN for `nan`.
    KITH_HD static float value(Key k) {
        const Key u = k & 0x80000000u ? k & 0x7fffffffu : ~k;
#if defined(__CUDA_ARCH__)
        return __uint_as_float(u);
#else
        return __builtin_bit_cast(float, u);
#endif
    }
};

template <>
struct Order<double> {
    using Key = std::uint64_t;
    static constexpr Key nan = 0xffffffffffffffffULL;
    KITH_HD static Key key(double v, bool flip = false) {
        if (v != v) return nan;
        const Key u = double_to_bits(v + 0.0);
        const Key ascending = u & 0x8000000000000000ULL ? ~u : u | 0x8000000000000000ULL;
        return flip ? ~ascending : ascending;
    }
    // The value of a key, NaN for `nan`.
    KITH_HD static double value(Key k) {
        return bits_to_double(k & 0x8000000000000000ULL ? k & 0x7fffffffffffffffULL : ~k);
    }
};

}  // namespace kith::exact
