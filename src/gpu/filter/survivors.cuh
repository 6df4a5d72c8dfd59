// How survivors leave a fused filter: a warp finds them in its registers by ballot, keeps them in a short list of its
// own in shared memory, and empties the list into the queries' rows in global memory when it is nearly full.
#pragma once

#include "gpu/filter/pass.h"

namespace kith::gpu {

// One warp's list. Only this warp touches it; `count` is the same in all lanes.
struct WarpList {
    static constexpr int room = 128;
    Survivor* entries;
    std::uint32_t* queries;
    int count = 0;

    // Every lane must call.
    __device__ void flush(Survivor* survivors, std::int32_t* counts, std::int64_t capacity) {
        __syncwarp();
        for (int i = static_cast<int>(threadIdx.x % 32); i < count; i += 32) {
            const std::int64_t query = queries[i];
            const std::int64_t at = atomicAdd(&counts[query], 1);
            if (at < capacity) survivors[query * capacity + at] = entries[i];
        }
        __syncwarp();
        count = 0;
    }
};

// Element i of v[0 .. 16), by selections: an array in registers has no run-time index.
__device__ __forceinline__ float pick16(const float* v, int i) {
    float a[8];
#pragma unroll
    for (int n = 0; n < 8; ++n) a[n] = i & 1 ? v[2 * n + 1] : v[2 * n];
#pragma unroll
    for (int n = 0; n < 4; ++n) a[n] = i & 2 ? a[2 * n + 1] : a[2 * n];
#pragma unroll
    for (int n = 0; n < 2; ++n) a[n] = i & 4 ? a[2 * n + 1] : a[2 * n];
    return i & 8 ? a[1] : a[0];
}

// The least of v[0], v[1], v[4], v[5], ..: those of one row.
__device__ __forceinline__ float least_of_row(const float* v) {
    const float a = fminf(fminf(v[0], v[1]), fminf(v[4], v[5])), b = fminf(fminf(v[8], v[9]), fminf(v[12], v[13]));
    return fminf(a, b);
}

// A thread's accumulators of a piece of 16 rows and `size / 2` columns in the layout that wgmma and mma.sync share:
// value i belongs to the thread's upper row, or with i & 2 to its lower (8 below), and to column (i / 4) * 8 + (lane %
// 4) * 2 + i %
// 2. Appends what is within the rows' limits; NaN as a limit keeps nothing. One vote tells which 16 values of a thread
// hold any; mostly none do.
template <int size>
__device__ __forceinline__ void keep_survivors(const float* v, float upper_limit, float lower_limit,
                                               std::uint32_t upper_query, std::uint32_t first_point, WarpList& list,
                                               const FilterPass& pass) {
    constexpr int parts = size / 16;
    std::uint32_t parts_hit = 0;
#pragma unroll
    for (int part = 0; part < parts; ++part)
        if (least_of_row(v + part * 16) <= upper_limit || least_of_row(v + part * 16 + 2) <= lower_limit)
            parts_hit |= 1u << part;
    parts_hit = __reduce_or_sync(0xffffffffu, parts_hit);
    if (parts_hit == 0) return;
    const unsigned lane = threadIdx.x % 32;
#pragma unroll
    for (int part = 0; part < parts; ++part) {
        if (!(parts_hit >> part & 1u)) continue;
        const float* const own = v + part * 16;
        std::uint32_t mask = 0;
#pragma unroll
        for (int i = 0; i < 16; ++i)
            if (own[i] <= (i & 2 ? lower_limit : upper_limit)) mask |= 1u << i;
        while (const unsigned lanes = __ballot_sync(0xffffffffu, mask != 0)) {
            if (list.count + __popc(lanes) > WarpList::room) list.flush(pass.survivors, pass.counts, pass.capacity);
            if (mask != 0) {
                const int i = __ffs(static_cast<int>(mask)) - 1;
                mask &= mask - 1;
                const int at = list.count + __popc(lanes & ((1u << lane) - 1u));
                list.entries[at] = {pick16(own, i),
                                    first_point + static_cast<std::uint32_t>(part * 4 + i / 4) * 8 + i % 2};
                list.queries[at] = upper_query + (i & 2 ? 8u : 0u);
            }
            list.count += __popc(lanes);
        }
    }
}

// The bar of a row for columns that are queries: a pair passes when a - column_limit is no larger. Widened by more than
// what the subtraction rounds.
__device__ __forceinline__ float row_bar(float h) {
    return __fmaf_ru(fabsf(h), 0x1p-22f, -h);
}

// The same piece with its columns as queries and its rows as points. `column_limit` is at the thread's first column;
// bars are those of the thread's rows.
template <int size>
__device__ __forceinline__ void keep_column_survivors(const float* v, const float2* column_limit, float upper_bar,
                                                      float lower_bar, std::uint32_t upper_point,
                                                      std::uint32_t first_query, WarpList& list,
                                                      const FilterPass& pass) {
    constexpr int parts = size / 16;
    std::uint32_t parts_hit = 0;
#pragma unroll
    for (int part = 0; part < parts; ++part) {
        float less[16];
#pragma unroll
        for (int i = 0; i < 16; i += 4) {
            const float2 limit = __ldg(column_limit + (part * 4 + i / 4) * 4);
            less[i] = v[part * 16 + i] - limit.x;
            less[i + 1] = v[part * 16 + i + 1] - limit.y;
            less[i + 2] = v[part * 16 + i + 2] - limit.x;
            less[i + 3] = v[part * 16 + i + 3] - limit.y;
        }
        if (least_of_row(less) <= upper_bar || least_of_row(less + 2) <= lower_bar) parts_hit |= 1u << part;
    }
    parts_hit = __reduce_or_sync(0xffffffffu, parts_hit);
    if (parts_hit == 0) return;
    const unsigned lane = threadIdx.x % 32;
#pragma unroll
    for (int part = 0; part < parts; ++part) {
        if (!(parts_hit >> part & 1u)) continue;
        const float* const own = v + part * 16;
        std::uint32_t mask = 0;
#pragma unroll
        for (int i = 0; i < 16; i += 4) {
            const float2 limit = __ldg(column_limit + (part * 4 + i / 4) * 4);
            if (own[i] - limit.x <= upper_bar) mask |= 1u << i;
            if (own[i + 1] - limit.y <= upper_bar) mask |= 2u << i;
            if (own[i + 2] - limit.x <= lower_bar) mask |= 4u << i;
            if (own[i + 3] - limit.y <= lower_bar) mask |= 8u << i;
        }
        while (const unsigned lanes = __ballot_sync(0xffffffffu, mask != 0)) {
            if (list.count + __popc(lanes) > WarpList::room) list.flush(pass.survivors, pass.counts, pass.capacity);
            if (mask != 0) {
                const int i = __ffs(static_cast<int>(mask)) - 1;
                mask &= mask - 1;
                const int at = list.count + __popc(lanes & ((1u << lane) - 1u));
                const std::uint32_t query = first_query + static_cast<std::uint32_t>(part * 4 + i / 4) * 8 + i % 2;
                const std::uint32_t point = upper_point + (i & 2 ? 8u : 0u);
                list.entries[at] = {pick16(own, i) - pass.h[query] + pass.h[point], point};
                list.queries[at] = query;
            }
            list.count += __popc(lanes);
        }
    }
}

// The other way out: every value to its place. `out` is the upper row at the thread's first column.
template <int size>
__device__ __forceinline__ void keep_all(const float* v, float* out, std::int64_t ld, bool upper, bool lower) {
#pragma unroll
    for (int i = 0; i < size; i += 4) {
        if (upper) *reinterpret_cast<float2*>(out + i / 4 * 8) = make_float2(v[i], v[i + 1]);
        if (lower) *reinterpret_cast<float2*>(out + 8 * ld + i / 4 * 8) = make_float2(v[i + 2], v[i + 3]);
    }
}

}  // namespace kith::gpu
