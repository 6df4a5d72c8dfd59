// The tile of the direct filter: the body of the kernels of metrics (direct.cu) and, as text that
// is compiled at run time, of formulas (formula_pass_text.cpp), ahead of which come the texts of
// what it includes.
//
// A block of 256 threads owns a tile of 128 queries x 128 points, a thread 8 x 8 pairs of it: per
// word it reads 16 and takes 64 steps, so that the steps, not shared memory, are what a pass costs.
// Words come by cp.async in slices of 16 per row, a few slices ahead and across the ends of tiles.
#pragma once

#include "gpu/filter/candidates.cuh"
#include "gpu/filter/direct_schedule.cuh"
#include "gpu/filter/direct_step.cuh"
#include "gpu/primitives/f32.h"

namespace kith::gpu::direct {

constexpr int tile = 128, threads = 256, warps = threads / 32;
// Words of a row that are copied at once, and slices in flight: one is read while two come, and two
// blocks fit a multiprocessor. On an NVIDIA H200, 2026-11-22, the main pass of n 131,072, q 4,096,
// d 128 took 4.85 ms, 97 G/s, at 3.53 of 4 instructions a cycle (docs/performance.md). Other slices
// and stages have not been timed.
constexpr int slice = 16, stages = 3;
using Ring = SliceRing<tile, slice, stages, threads, 1>;
constexpr int list_bytes = WarpList::most_room * WarpList::entry_bytes;
constexpr int shared_bytes = Ring::bytes + warps * list_bytes + tile * 4;

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

// What is done with pairs whose values prove enough: nothing, or they are counted and not listed
// (sure_pairs.h).
struct AllListed {
    static constexpr bool counts = false;
};
// Of the block's queries, in shared memory: values up to which pairs are counted, and how many
// were.
struct TileCounts {
    float limits[tile];
    int counts[tile];
};

// Of 16 values, eight of query `first` of the tile and eight of the next, those that are counted;
// whole warp. Returns what is left of the mask.
__device__ __forceinline__ std::uint32_t count_sure(std::uint32_t mask, const float* values,
                                                    int first, TileCounts& shared) {
    const float limits[2] = {shared.limits[first], shared.limits[first + 1]};
    std::uint32_t sure = 0;
#pragma unroll
    for (int i = 0; i < 16; ++i)
        // -inf is of a point that is not covered.
        if (values[i] <= limits[i / 8] && values[i] >= -largest_f32) sure |= 1u << i;
    sure &= mask;
    if (!__any_sync(0xffffffffu, sure != 0)) return mask;
    // Eight lanes have the same queries: at most 64 pairs of each.
    unsigned both = static_cast<unsigned>(__popc(sure & 0xffu) | __popc(sure >> 8) << 16);
#pragma unroll
    for (int step = 1; step < 8; step *= 2) both += __shfl_xor_sync(0xffffffffu, both, step);
    if (threadIdx.x % 8 == 0 && (both & 0xffffu) != 0)
        atomicAdd(&shared.counts[first], static_cast<int>(both & 0xffffu));
    if (threadIdx.x % 8 == 1 && both >> 16 != 0)
        atomicAdd(&shared.counts[first + 1], static_cast<int>(both >> 16));
    return mask & ~sure;
}

template <class S, bool All, class Sure = AllListed>
__device__ __forceinline__ void run_tiles(const FilterPass& pass, const Schedule& schedule,
                                          const Sure& sure = {}) {
    extern __shared__ __align__(128) char direct_shared[];
    const int warp = static_cast<int>(threadIdx.x / 32);
    char* const front = direct_shared + Ring::bytes;
    auto* const entries = reinterpret_cast<Candidate*>(front + warp * list_bytes);
    auto* const thresholds = reinterpret_cast<float*>(front + warps * list_bytes);
    WarpList list{entries, reinterpret_cast<std::uint32_t*>(entries + WarpList::most_room)};
    auto& counted = *reinterpret_cast<TileCounts*>(thresholds + tile);
    std::int64_t counted_query = -1;
    // What a thread's query of the tile before has, to global memory.
    const auto flush_counts = [&] {
        if constexpr (Sure::counts) {
            const auto i = static_cast<int>(threadIdx.x);
            if (counted_query >= 0 && i < tile && counted.counts[i] > 0)
                atomicAdd(&sure.counts_of[counted_query + i], counted.counts[i]);
        }
    };

    Cursor work(schedule, blockIdx.x);
    Ring ring(pass, schedule, direct_shared);
    std::int64_t before = -1;
    while (work.id < schedule.work_tiles) {
        const std::int64_t first_query = work.query_panel(schedule) * tile;
        typename S::Acc acc[8][8] = {};
        if constexpr (S::starts) {
#pragma unroll
            for (int a = 0; a < 64; ++a) acc[a / 8][a % 8] = pass.exponent;
        }
        for (int s = 0; s < schedule.slices; ++s) {
            const char* const stage = ring.next();
            if (!All && s == 0 && work.id != before) {
                // Everyone is past the last tile's thresholds; the next barrier is before the first
                // of these is read.
                for (int i = static_cast<int>(threadIdx.x); i < tile; i += threads)
                    thresholds[i] = first_query + i < pass.q ? pass.threshold[first_query + i]
                                                             : __int_as_float(0x7fffffff);
                if constexpr (Sure::counts) {
                    flush_counts();
                    counted_query = first_query;
                    if (const int i = static_cast<int>(threadIdx.x); i < tile) {
                        counted.counts[i] = 0;
                        counted.limits[i] = first_query + i < pass.q ? sure.up_to[first_query + i]
                                                                     : __int_as_float(0x7fffffff);
                    }
                }
                before = work.id;
            }
            const auto* const queries = reinterpret_cast<const float*>(stage) + own_query(0);
            const auto* const points =
                reinterpret_cast<const float*>(stage + Ring::slice_bytes) + own_point(0);
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
            for (; w + S::unrolled <= words; w += S::unrolled) {
#pragma unroll
                for (int i = 0; i < S::unrolled; ++i) take(w + i);
            }
#pragma unroll 1
            for (; w < words; ++w) take(w);
        }

        const std::int64_t first_point = std::int64_t{work.panel} * tile;
        float h[8];
        load_four(h, 0, pass.half_norm + pass.first + first_point + own_point(0));
        load_four(h, 1, pass.half_norm + pass.first + first_point + own_point(4));
        // A value that overflowed stays below the +inf of padding and of NaN; the -inf of a point
        // that is not covered holds whatever its words are.
        float term[8] = {};
        if constexpr (S::has_query_term) {
#pragma unroll
            for (int a = 0; a < 8; ++a)
                if (first_query + own_query(a) < pass.q)
                    term[a] = pass.query_term[first_query + own_query(a)];
        }
        const auto value = [&](int a, int b) {
            if constexpr (S::has_query_term)
                return fminf(S::finish(acc[a][b], pass.exponent, term[a]), largest_f32) + h[b];
            else return fminf(S::finish(acc[a][b]), largest_f32) + h[b];
        };
        if constexpr (All) {
#pragma unroll
            for (int a = 0; a < 8; ++a) {
                const std::int64_t query = first_query + own_query(a);
                if (query >= pass.q) continue;
#pragma unroll
                for (int b = 0; b < 8; b += 4)
                    *reinterpret_cast<float4*>(pass.all + query * pass.ld + first_point +
                                               own_point(b)) =
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
                if constexpr (Sure::counts) mask = count_sure(mask, values, own_query(a), counted);
                if (!__any_sync(0xffffffffu, mask != 0)) continue;
                append_to_list(
                    mask, values, list, pass,
                    [&](float v, int i, Candidate& entry, std::uint32_t& query) {
                        entry = {v, static_cast<std::uint32_t>(pass.first + first_point +
                                                               own_point(i % 8))};
                        query = static_cast<std::uint32_t>(first_query + own_query(a + i / 8));
                    });
            }
        }
        if (++work.panel == work.end) work.at(schedule, work.id + gridDim.x);
    }
    cp_async_wait_all();
    if constexpr (Sure::counts) {
        __syncthreads();
        flush_counts();
    }
    if (!All) list.flush(pass);
}

}  // namespace kith::gpu::direct
