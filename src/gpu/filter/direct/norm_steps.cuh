// The steps of norms: add() adds the term of one word of query and point to a sum (or maximum) of
// powers of differences, in f32. The direct filter and the distance kernels share them;
// exact/direct_form.h has their errors. Only powers use `exponent`.
#pragma once

namespace kith::gpu::steps {

struct Cityblock {
    __device__ static float add(float sum, float q, float x, float) { return sum + fabsf(q - x); }
};
struct Chebyshev {
    __device__ static float add(float largest, float q, float x, float) {
        return fmaxf(largest, fabsf(q - x));
    }
};
struct Squares {
    __device__ static float add(float sum, float q, float x, float) {
        return fmaf(q - x, q - x, sum);
    }
};
struct Cubes {
    __device__ static float add(float sum, float q, float x, float) {
        const float t = fabsf(q - x);
        return fmaf(t * t, t, sum);
    }
};
struct Fourths {
    __device__ static float add(float sum, float q, float x, float) {
        const float square = (q - x) * (q - x);
        return fmaf(square, square, sum);
    }
};
struct Powers {
    __device__ static float add(float sum, float q, float x, float exponent) {
        float log, power;
        asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(log) : "f"(fabsf(q - x)));
        asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(log * exponent));
        return sum + power;
    }
};

}  // namespace kith::gpu::steps
