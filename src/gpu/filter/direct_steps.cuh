// The steps of the direct filter's forms, which the distance kernels share.
//
// What they may be wrong by is in exact/direct_form.h. Of the approximations in use here (PTX
// ISA, 9.7.3): rcp is within 1 ulp for what is neither a denormal nor has one for its reciprocal,
// lg2 within 2^-22, absolutely between 1/2 and 2 and relatively elsewhere, ex2 within a relative
// 2^-22.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

#include "gpu/filter/direct_step.cuh"
#include "gpu/filter/norm_steps.cuh"
#include "gpu/primitives/f32.h"

namespace kith::gpu::direct {

// A sum (or maximum) of powers of differences.
template <class Norm>
struct NormStep : FloatStep {
    __device__ static void step(float& a, float q, float x, float exponent) {
        a = Norm::add(a, q, x, exponent);
    }
};
// Words of two whole numbers in fp16, whose differences fp16 holds.
struct HalvesStep : AnyStep {
    using Acc = std::uint32_t;
    __device__ static void step(std::uint32_t& a, float q, float x, float) {
        std::uint32_t difference;
        asm("sub.f16x2 %0, %1, %2;"
            : "=r"(difference)
            : "r"(__float_as_uint(q)), "r"(__float_as_uint(x)));
        asm("abs.f16x2 %0, %0;" : "+r"(difference));
        asm("max.f16x2 %0, %0, %1;" : "+r"(a) : "r"(difference));
    }
    __device__ static float finish(std::uint32_t a) {
        return fmaxf(__half2float(__ushort_as_half(static_cast<unsigned short>(a & 0xffffu))),
                     __half2float(__ushort_as_half(static_cast<unsigned short>(a >> 16))));
    }
};

__device__ __forceinline__ float reciprocal(float x) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// Coordinates other than 0 are within 2^-100 ... 2^100.
struct QuotientsStep : FloatStep {
    __device__ static void step(float& a, float q, float x, float) {
        a = fmaf(fabsf(q - x), reciprocal(fmaxf(fabsf(q) + fabsf(x), 0x1p-100f)), a);
    }
};
struct QuotientStep : AnyStep {
    struct Acc {
        float differences, sums;
    };
    static constexpr int blocks = 1;
    __device__ static void step(Acc& a, float q, float x, float) {
        a.differences += fabsf(q - x);
        a.sums += fabsf(q + x);
    }
    // 0 / 0 is 0; a difference over a sum of 0 is +inf, as the key is.
    __device__ static float finish(Acc a) {
        return a.differences == 0.0f ? 0.0f : __fdiv_rn(a.differences, a.sums);
    }
};
struct MismatchStep : FloatStep {
    __device__ static void step(float& a, float q, float x, float) {
        if (q != x) a += 1.0f;
    }
};

// Words of four bytes. Counts are whole numbers.
struct CountStep : AnyStep {
    using Acc = int;
    __device__ static float finish(int a) { return static_cast<float>(a); }
};
struct ByteStep : AnyStep {
    using Acc = unsigned;
    __device__ static void step(unsigned& a, float q, float x, float) {
        const unsigned differ = __float_as_uint(q) ^ __float_as_uint(x);
        // 128 for every byte that is not 0.
        const unsigned not_zero = (((differ & 0x7f7f7f7fu) + 0x7f7f7f7fu) | differ) & 0x80808080u;
        a = __dp4a(not_zero, 0x01010101u, a);
    }
    __device__ static float finish(unsigned a) { return static_cast<float>(a / 128); }
};
struct ByteDifferencesStep : CountStep {
    __device__ static void step(int& a, float q, float x, float) {
        asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %0;"
            : "+r"(a)
            : "r"(__float_as_uint(q)), "r"(__float_as_uint(x)));
    }
};
struct ByteSquaresStep : AnyStep {
    using Acc = unsigned;
    __device__ static void step(unsigned& a, float q, float x, float) {
        unsigned differences;
        asm("vabsdiff4.u32.u32.u32 %0, %1, %2, %3;"
            : "=r"(differences)
            : "r"(__float_as_uint(q)), "r"(__float_as_uint(x)), "r"(0));
        a = __dp4a(differences, differences, a);
    }
    __device__ static float finish(unsigned a) { return static_cast<float>(a); }
};

// As the CPU's (cpu/filter/direct_steps-inl.h): coordinates are roots, a term is (q - x)^2 G(t).
struct DivergenceStep : FloatStep {
    __device__ static void step(float& a, float q, float x, float) {
        const float size = fmaxf(fmaf(q, q, x * x), 0x1p-100f);
        const float t = q * x * reciprocal(size), e = q - x;
        float g = fmaf(-0x1.c7653ep+1f, t, 0x1.369d92p+2f);
        g = fmaf(g, t, -0x1.6c8338p+1f);
        g = fmaf(g, t, 0x1.443cb0p+0f);
        g = fmaf(g, t, 0x1.6324e8p-1f);
        a = fmaf(e * e, g, a);
    }
};

// Of shares, at least smallest_share, the sum of (q + x) log2 (q + x).
struct LogarithmStep : FloatStep {
    static constexpr bool has_query_term = true;
    __device__ static void step(float& a, float q, float x, float) {
        const float sum = q + x;
        float log;
        asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(log) : "f"(sum));
        a = fmaf(sum, log, a);
    }
    // A row that is not covered may bring an infinity, which the half norm of padding and of NaN
    // must not meet.
    __device__ static float finish(float a, float factor, float query_term) {
        return fmaxf(fmaf(-factor, a, query_term), -largest_f32);
    }
};

}  // namespace kith::gpu::direct
