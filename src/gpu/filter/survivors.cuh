// How survivors leave a fused filter: a warp finds them in its registers by ballot, keeps them in a short list of its
// own in shared memory, and empties the list into the queries' rows in global memory when it is nearly full.
#pragma once

#include "gpu/filter/pass.h"

namespace kith::gpu {

// One warp's list. Only this warp touches it; `count` is the same in all lanes.
struct WarpList {
    static constexpr int room = 128;
    // Marks the query of a pair that was found as a column: its value still is the row's.
    static constexpr std::uint32_t column = 0x80000000u;
    Survivor* entries;
    std::uint32_t* queries;
    int count = 0;

    // Every lane must call.
    __device__ void flush(const FilterPass& pass) {
        __syncwarp();
        for (int i = static_cast<int>(threadIdx.x % 32); i < count; i += 32) {
            const std::int64_t query = queries[i] & ~column;
            const std::int64_t at = atomicAdd(&pass.counts[query], 1);
            Survivor entry = entries[i];
            if (queries[i] & column) entry.a = entry.a - pass.h[query] + pass.h[entry.point];
            if (at < pass.capacity) pass.survivors[query * pass.capacity + at] = entry;
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

// Appends entry(value, i) and its query for each bit i of `mask`, of a thread's 16 values. Every lane must call.
template <class Entry>
__device__ __forceinline__ void append(std::uint32_t mask, const float* own, WarpList& list, const FilterPass& pass,
                                       Entry entry) {
    const unsigned lower_lanes = (1u << threadIdx.x % 32) - 1u;
    while (const unsigned lanes = __ballot_sync(0xffffffffu, mask != 0)) {
        if (list.count + __popc(lanes) > WarpList::room) list.flush(pass);
        if (mask != 0) {
            const int i = __ffs(static_cast<int>(mask)) - 1;
            mask &= mask - 1;
            const int at = list.count + __popc(lanes & lower_lanes);
            entry(pick16(own, i), i, list.entries[at], list.queries[at]);
        }
        list.count += __popc(lanes);
    }
}

// The bar of a row for columns that are queries: a pair passes when a - column_limit is no larger. Widened by more than
// what the subtraction rounds.
__device__ __forceinline__ float row_bar(float h) {
    return __fmaf_ru(fabsf(h), 0x1p-22f, -h);
}

// Where a thread's piece lies: its upper row, its first column, and what they must not exceed. The lower row is 8
// below.
struct Piece {
    std::uint32_t row, column;
    float upper_limit, lower_limit;        // of the rows as queries; NaN keeps nothing
    float upper_bar = 0, lower_bar = 0;    // of the rows as points
    const float2* column_limit = nullptr;  // of the columns as queries, in shared memory
};

// A thread's accumulators of a piece of 16 rows and `size / 2` columns in the layout that wgmma and mma.sync share:
// value i belongs to the thread's upper row, or with i & 2 to its lower, and to column (i / 4) * 8 + (lane % 4) * 2 + i
// % 2. Appends what is within the rows' limits and, with `both`, within the columns'. One vote tells which 16 values of
// a thread hold any; mostly none do.
template <int size, bool both = false>
__device__ __forceinline__ void keep_survivors(const float* v, const Piece& piece, WarpList& list,
                                               const FilterPass& pass) {
    constexpr int parts = size / 16;
    const auto columns = [&](int part, int i) { return piece.column_limit[(part * 4 + i / 4) * 4]; };
    std::uint32_t hit = 0;
#pragma unroll
    for (int part = 0; part < parts; ++part) {
        const float infinity = __int_as_float(0x7f800000);
        float upper = infinity, lower = infinity, upper_less = infinity, lower_less = infinity;
#pragma unroll
        for (int i = 0; i < 16; i += 4) {
            const float* const x = v + part * 16 + i;
            upper = fminf(upper, fminf(x[0], x[1]));
            lower = fminf(lower, fminf(x[2], x[3]));
            if constexpr (both) {
                const float2 limit = columns(part, i);
                upper_less = fminf(upper_less, fminf(x[0] - limit.x, x[1] - limit.y));
                lower_less = fminf(lower_less, fminf(x[2] - limit.x, x[3] - limit.y));
            }
        }
        if (upper <= piece.upper_limit || lower <= piece.lower_limit) hit |= 1u << part;
        if (both && (upper_less <= piece.upper_bar || lower_less <= piece.lower_bar)) hit |= 16u << part;
    }
    hit = __reduce_or_sync(0xffffffffu, hit);
    if (hit == 0) return;
#pragma unroll
    for (int part = 0; part < parts; ++part) {
        const float* const own = v + part * 16;
        const auto column = [&](int i) {
            return piece.column + static_cast<std::uint32_t>(part * 4 + i / 4) * 8 + i % 2;
        };
        const auto row = [&](int i) { return piece.row + (i & 2 ? 8u : 0u); };
        if (hit >> part & 1u) {
            std::uint32_t mask = 0;
#pragma unroll
            for (int i = 0; i < 16; ++i)
                if (own[i] <= (i & 2 ? piece.lower_limit : piece.upper_limit)) mask |= 1u << i;
            append(mask, own, list, pass, [&](float a, int i, Survivor& entry, std::uint32_t& query) {
                entry = {a, column(i)};
                query = row(i);
            });
        }
        if constexpr (both) {
            if (!(hit >> part & 16u)) continue;
            std::uint32_t mask = 0;
#pragma unroll
            for (int i = 0; i < 16; i += 4) {
                const float2 limit = columns(part, i);
                if (own[i] - limit.x <= piece.upper_bar) mask |= 1u << i;
                if (own[i + 1] - limit.y <= piece.upper_bar) mask |= 2u << i;
                if (own[i + 2] - limit.x <= piece.lower_bar) mask |= 4u << i;
                if (own[i + 3] - limit.y <= piece.lower_bar) mask |= 8u << i;
            }
            append(mask, own, list, pass, [&](float a, int i, Survivor& entry, std::uint32_t& query) {
                entry = {a, row(i)};
                query = column(i) | WarpList::column;
            });
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
