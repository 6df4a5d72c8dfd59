// The direct filter's pass. A block of 256 threads owns a tile of 128 queries x 128 points, a thread 8 x 8 pairs of it:
// per word it reads 16 and takes 64 steps, so that the steps, not shared memory, are what a pass costs. Words come by
// cp.async in slices of 16 per row, a few slices ahead and across the ends of tiles.
//
// What the steps may be wrong by is in exact/direct_form.h. Of the approximations in use here (PTX ISA, 9.7.3): rcp is
// within 1 ulp for what is neither a denormal nor has one for its reciprocal, lg2 within 2^-22, absolutely between 1/2
// and 2 and relatively elsewhere, ex2 within a relative 2^-22.
#include <type_traits>

#include "gpu/filter/candidates.cuh"
#include "gpu/filter/direct.h"
#include "gpu/filter/direct_schedule.cuh"
#include "gpu/runtime/check.h"
#include "gpu/runtime/device.h"

namespace kith::gpu {

namespace direct {
namespace {

using exact::Step;

constexpr int tile = static_cast<int>(filter_tile_queries), threads = 256, warps = threads / 32;
// Words of a row that are copied at once, and slices in flight: one is read while two come, and two blocks fit a
// multiprocessor. On an NVIDIA H200, 2026-11-22, the main pass of n 131,072, q 4,096, d 128 took 4.85 ms, 97 G/s, at
// 3.53 of 4 instructions a cycle (docs/performance.md). Other slices and stages have not been timed.
constexpr int slice = 16, stages = 3;
using Ring = SliceRing<tile, slice, stages, threads, 1>;
constexpr int list_bytes = WarpList::room * static_cast<int>(sizeof(Candidate) + sizeof(std::uint32_t));
constexpr int shared_bytes = Ring::bytes + warps * list_bytes + tile * 4;
static_assert(filter_tile_points % tile == 0);

// A metric's step: what a word adds to a pair's accumulator, and the value of that.
struct FloatStep {
    using Acc = float;
    static constexpr int blocks = 2;  // on a multiprocessor: 64 accumulators leave room for 128 registers
    __device__ static float finish(float a) { return a; }
};

struct CityblockStep : FloatStep {
    __device__ static void step(float& a, float q, float x, float) { a += fabsf(q - x); }
};
struct ChebyshevStep : FloatStep {
    __device__ static void step(float& a, float q, float x, float) { a = fmaxf(a, fabsf(q - x)); }
};
struct SquareStep : FloatStep {
    __device__ static void step(float& a, float q, float x, float) { a = fmaf(q - x, q - x, a); }
};
// Words of two whole numbers in fp16, whose differences fp16 holds.
struct HalvesStep {
    using Acc = std::uint32_t;
    static constexpr int blocks = 2;
    __device__ static void step(std::uint32_t& a, float q, float x, float) {
        std::uint32_t difference;
        asm("sub.f16x2 %0, %1, %2;" : "=r"(difference) : "r"(__float_as_uint(q)), "r"(__float_as_uint(x)));
        asm("abs.f16x2 %0, %0;" : "+r"(difference));
        asm("max.f16x2 %0, %0, %1;" : "+r"(a) : "r"(difference));
    }
    __device__ static float finish(std::uint32_t a) {
        return fmaxf(__half2float(__ushort_as_half(static_cast<unsigned short>(a & 0xffffu))),
                     __half2float(__ushort_as_half(static_cast<unsigned short>(a >> 16))));
    }
};
struct CubeStep : FloatStep {
    __device__ static void step(float& a, float q, float x, float) {
        const float t = fabsf(q - x);
        a = fmaf(t * t, t, a);
    }
};
struct FourthStep : FloatStep {
    __device__ static void step(float& a, float q, float x, float) {
        const float square = (q - x) * (q - x);
        a = fmaf(square, square, a);
    }
};

__device__ __forceinline__ float reciprocal(float x) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

struct PowerStep : FloatStep {
    __device__ static void step(float& a, float q, float x, float exponent) {
        float log, power;
        asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(log) : "f"(fabsf(q - x)));
        asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(log * exponent));
        a += power;
    }
};
// Coordinates other than 0 are within 2^-100 ... 2^100.
struct QuotientsStep : FloatStep {
    __device__ static void step(float& a, float q, float x, float) {
        a = fmaf(fabsf(q - x), reciprocal(fmaxf(fabsf(q) + fabsf(x), 0x1p-100f)), a);
    }
};
struct QuotientStep {
    struct Acc {
        float differences, sums;
    };
    static constexpr int blocks = 1;
    __device__ static void step(Acc& a, float q, float x, float) {
        a.differences += fabsf(q - x);
        a.sums += fabsf(q + x);
    }
    // 0 / 0 is 0; a difference over a sum of 0 is +inf, as the key is.
    __device__ static float finish(Acc a) { return a.differences == 0.0f ? 0.0f : __fdiv_rn(a.differences, a.sums); }
};
struct MismatchStep : FloatStep {
    __device__ static void step(float& a, float q, float x, float) {
        if (q != x) a += 1.0f;
    }
};

// Words of four bytes. Counts are whole numbers.
struct CountStep {
    using Acc = int;
    static constexpr int blocks = 2;
    __device__ static float finish(int a) { return static_cast<float>(a); }
};
struct ByteStep {
    using Acc = unsigned;
    static constexpr int blocks = 2;
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
        asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %0;" : "+r"(a) : "r"(__float_as_uint(q)), "r"(__float_as_uint(x)));
    }
};
struct ByteSquaresStep {
    using Acc = unsigned;
    static constexpr int blocks = 2;
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
    __device__ static void step(float& a, float q, float x, float) {
        const float sum = q + x;
        float log;
        asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(log) : "f"(sum));
        a = fmaf(sum, log, a);
    }
    // A row that is not covered may bring an infinity, which the half norm of padding and of NaN must not meet.
    __device__ static float finish(float a, float factor, float query_term) {
        return fmaxf(fmaf(-factor, a, query_term), -3.402823466e38f);
    }
};

// Queries, and points, of a thread: two groups of four, `apart` apart.
constexpr int query_apart = 16, point_apart = 32;
__device__ __forceinline__ int own_query(int i) {
    const int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
    return warp / 2 * 32 + i / 4 * query_apart + lane / 8 * 4 + i % 4;
}
__device__ __forceinline__ int own_point(int j) {
    const int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
    return warp % 2 * 64 + j / 4 * point_apart + lane % 8 * 4 + j % 4;
}

// The four values at own_...(4 i) of a row of 128.
__device__ __forceinline__ void load_four(float (&to)[8], int i, const float* from) {
    const float4 four = *reinterpret_cast<const float4*>(from);
    to[4 * i] = four.x;
    to[4 * i + 1] = four.y;
    to[4 * i + 2] = four.z;
    to[4 * i + 3] = four.w;
}

template <class S, bool All>
__global__ void __launch_bounds__(threads, S::blocks)
    direct_kernel(const __grid_constant__ FilterPass pass, const __grid_constant__ Schedule schedule) {
    extern __shared__ __align__(128) char direct_shared[];
    const int warp = static_cast<int>(threadIdx.x / 32);
    char* const front = direct_shared + Ring::bytes;
    auto* const entries = reinterpret_cast<Candidate*>(front + warp * list_bytes);
    auto* const thresholds = reinterpret_cast<float*>(front + warps * list_bytes);
    WarpList list{entries, reinterpret_cast<std::uint32_t*>(entries + WarpList::room)};

    Cursor work(schedule, blockIdx.x);
    Ring ring(pass, schedule, direct_shared);
    std::int64_t before = -1;
    while (work.id < schedule.work_tiles) {
        const std::int64_t first_query = work.query_panel(schedule) * tile;
        typename S::Acc acc[8][8] = {};
        for (int s = 0; s < schedule.slices; ++s) {
            const char* const stage = ring.next();
            if (!All && s == 0 && work.id != before) {
                // Everyone is past the last tile's thresholds; the next barrier is before the first of these is read.
                for (int i = static_cast<int>(threadIdx.x); i < tile; i += threads)
                    thresholds[i] =
                        first_query + i < pass.q ? pass.threshold[first_query + i] : __int_as_float(0x7fffffff);
                before = work.id;
            }
            const auto* const queries = reinterpret_cast<const float*>(stage) + own_query(0);
            const auto* const points = reinterpret_cast<const float*>(stage + Ring::slice_bytes) + own_point(0);
            const int words = ring.words(s);
            const auto take = [&](int w) {
                float q[8], x[8];
                load_four(q, 0, queries + w * tile);
                load_four(q, 1, queries + w * tile + query_apart);
                load_four(x, 0, points + w * tile);
                load_four(x, 1, points + w * tile + point_apart);
#pragma unroll
                for (int a = 0; a < 8; ++a)
#pragma unroll
                    for (int b = 0; b < 8; ++b) S::step(acc[a][b], q[a], x[b], pass.exponent);
            };
            int w = 0;
#pragma unroll 1
            for (; w + 4 <= words; w += 4) {
#pragma unroll
                for (int i = 0; i < 4; ++i) take(w + i);
            }
#pragma unroll 1
            for (; w < words; ++w) take(w);
        }

        const std::int64_t first_point = std::int64_t{work.panel} * tile;
        float h[8];
        load_four(h, 0, pass.half_norm + pass.first + first_point + own_point(0));
        load_four(h, 1, pass.half_norm + pass.first + first_point + own_point(4));
        // A value that overflowed stays below the +inf of padding and of NaN; the -inf of a point that is not covered
        // holds whatever its words are.
        constexpr bool has_query_term = std::is_same_v<S, LogarithmStep>;
        float term[8] = {};
        if constexpr (has_query_term) {
#pragma unroll
            for (int a = 0; a < 8; ++a)
                if (first_query + own_query(a) < pass.q) term[a] = pass.query_term[first_query + own_query(a)];
        }
        const auto value = [&](int a, int b) {
            if constexpr (has_query_term)
                return fminf(S::finish(acc[a][b], pass.exponent, term[a]), 3.402823466e38f) + h[b];
            else return fminf(S::finish(acc[a][b]), 3.402823466e38f) + h[b];
        };
        if constexpr (All) {
#pragma unroll
            for (int a = 0; a < 8; ++a) {
                const std::int64_t query = first_query + own_query(a);
                if (query >= pass.q) continue;
#pragma unroll
                for (int b = 0; b < 8; b += 4)
                    *reinterpret_cast<float4*>(pass.all + query * pass.ld + first_point + own_point(b)) =
                        make_float4(value(a, b), value(a, b + 1), value(a, b + 2), value(a, b + 3));
            }
        } else {
            if (schedule.slices == 1) __syncthreads();
            float threshold[8];
            load_four(threshold, 0, thresholds + own_query(0));
            load_four(threshold, 1, thresholds + own_query(4));
#pragma unroll
            for (int a = 0; a < 8; a += 2) {
                float values[16], least = value(a, 0), least_of_next = value(a + 1, 0);
#pragma unroll
                for (int b = 0; b < 8; ++b) {
                    values[b] = value(a, b);
                    values[8 + b] = value(a + 1, b);
                    least = fminf(least, values[b]);
                    least_of_next = fminf(least_of_next, values[8 + b]);
                }
                std::uint32_t mask = 0;
                if (least <= threshold[a] || least_of_next <= threshold[a + 1]) {
#pragma unroll
                    for (int i = 0; i < 16; ++i)
                        if (values[i] <= threshold[a + i / 8]) mask |= 1u << i;
                }
                if (!__any_sync(0xffffffffu, mask != 0)) continue;
                append_to_list(mask, values, list, pass, [&](float v, int i, Candidate& entry, std::uint32_t& query) {
                    entry = {v, static_cast<std::uint32_t>(pass.first + first_point + own_point(i % 8))};
                    query = static_cast<std::uint32_t>(first_query + own_query(a + i / 8));
                });
            }
        }
        if (++work.panel == work.end) work.at(schedule, work.id + gridDim.x);
    }
    cp_async_wait_all();
    if (!All) list.flush(pass);
}

template <class S>
void launch(const FilterPass& pass, cudaStream_t stream) {
    const int blocks = S::blocks * device_attributes().multiprocessors;
    const Schedule schedule = make_schedule(pass, tile, slice, blocks);
    auto* const kernel = pass.all ? direct_kernel<S, true> : direct_kernel<S, false>;
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes),
          "cudaFuncSetAttribute");
    kernel<<<static_cast<unsigned>(std::min<std::int64_t>(blocks, schedule.work_tiles)), threads, shared_bytes,
             stream>>>(pass, schedule);
    check_launch("direct filter");
}

}  // namespace
}  // namespace direct

void direct_pass(const FilterPass& pass, cudaStream_t stream) {
    using exact::Step;
    switch (pass.step) {
        case Step::dot:
            break;
        case Step::cityblock:
            if (pass.coordinates == exact::Coordinates::rounded_bytes)
                return direct::launch<direct::ByteDifferencesStep>(pass, stream);
            return direct::launch<direct::CityblockStep>(pass, stream);
        case Step::chebyshev:
            if (pass.coordinates == exact::Coordinates::rounded_halves)
                return direct::launch<direct::HalvesStep>(pass, stream);
            return direct::launch<direct::ChebyshevStep>(pass, stream);
        case Step::squares:
            if (pass.coordinates == exact::Coordinates::rounded_bytes)
                return direct::launch<direct::ByteSquaresStep>(pass, stream);
            return direct::launch<direct::SquareStep>(pass, stream);
        case Step::cubes:
            return direct::launch<direct::CubeStep>(pass, stream);
        case Step::fourths:
            return direct::launch<direct::FourthStep>(pass, stream);
        case Step::powers:
            return direct::launch<direct::PowerStep>(pass, stream);
        case Step::quotients:
            return direct::launch<direct::QuotientsStep>(pass, stream);
        case Step::quotient:
            return direct::launch<direct::QuotientStep>(pass, stream);
        case Step::mismatches:
            return direct::launch<direct::MismatchStep>(pass, stream);
        case Step::mismatched_bytes:
            return direct::launch<direct::ByteStep>(pass, stream);
        case Step::divergence:
            return direct::launch<direct::DivergenceStep>(pass, stream);
        case Step::logarithms:
            return direct::launch<direct::LogarithmStep>(pass, stream);
        case Step::jaccard_sets:
            break;
        case Step::mismatched_bits:
        case Step::jaccard_bits:
        case Step::dice_bits:
        case Step::unmatched_bits:
            return bits_pass(pass, stream);
    }
}

}  // namespace kith::gpu
