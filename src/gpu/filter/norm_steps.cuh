// What a word of query and point adds to a sum (or maximum) of powers of differences, in f32: the
// steps of the direct filter and of the distance kernels, whose errors exact/direct_form.h has.
// `exponent` is of powers alone.
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
