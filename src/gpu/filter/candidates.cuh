// The epilogue of the fused filters: a warp finds candidates in its accumulators by ballot, appends
// them to a short list of its own in shared memory, and flushes the list to the queries' lists in
// global memory when it is nearly full.
#pragma once

#include "gpu/filter/pass.h"
#include "gpu/primitives/f32.h"

namespace kith::gpu {

// Whose candidates those of a row of the pass are.
__device__ __forceinline__ std::uint32_t query_of_row(const FilterPass& pass, int row) {
    return pass.row_query && row < pass.q ? pass.row_query[row] : static_cast<std::uint32_t>(row);
}

// One warp's list. Only this warp touches it; `count` is the same in all lanes.
struct WarpList {
    static constexpr int most_room = 128, least_room = 48;
    static constexpr int entry_bytes = static_cast<int>(sizeof(Candidate) + sizeof(std::uint32_t));
    // Marks a pair whose query is the column: its value is still that of the row as query.
    static constexpr std::uint32_t column = 0x80000000u;
    Candidate* entries;
    std::uint32_t* queries;
    int room = most_room;
    int count = 0;

    // Every lane must call. A lane's places are asked for at once: each takes as long as all of
    // them.
    __device__ void flush(const FilterPass& pass) {
        constexpr int each = most_room / 32;
        const int lane = static_cast<int>(threadIdx.x % 32);
        std::int32_t at[each];
        __syncwarp();
#pragma unroll
        for (int j = 0; j < each; ++j)
            if (lane + 32 * j < count)
                at[j] = atomicAdd(&pass.counts[queries[lane + 32 * j] & ~column], 1);
#pragma unroll
        for (int j = 0; j < each; ++j) {
            const int i = lane + 32 * j;
            if (i >= count || at[j] >= pass.capacity) continue;
            const std::int64_t query = queries[i] & ~column;
            Candidate entry = entries[i];
            if (queries[i] & column)
                entry.a = entry.a - pass.half_norm[query] + pass.half_norm[entry.point];
            pass.candidates[query * pass.capacity + at[j]] = entry;
        }
        __syncwarp();
        count = 0;
    }
};

// Element i of v[0 .. 16) by a tree of selections: an array in registers has no run-time index.
template <class T>
__device__ __forceinline__ T pick16(const T* v, int i) {
    T a[8];
#pragma unroll
    for (int n = 0; n < 8; ++n) a[n] = i & 1 ? v[2 * n + 1] : v[2 * n];
#pragma unroll
    for (int n = 0; n < 4; ++n) a[n] = i & 2 ? a[2 * n + 1] : a[2 * n];
#pragma unroll
    for (int n = 0; n < 2; ++n) a[n] = i & 4 ? a[2 * n + 1] : a[2 * n];
    return i & 8 ? a[1] : a[0];
}

// Appends entry(value(i), i) and its query for each bit i of a thread's `mask`. Every lane must
// call. Unlike append() of primitives/block.cuh it needs no atomic operation, as a list is its
// warp's own, and it empties a full one.
template <class Value, class Entry>
__device__ __forceinline__ void append_bits(std::uint32_t mask, Value value, WarpList& list,
                                            const FilterPass& pass, Entry entry) {
    const unsigned lower_lanes = (1u << threadIdx.x % 32) - 1u;
    while (const unsigned lanes = __ballot_sync(0xffffffffu, mask != 0)) {
        if (list.count + __popc(lanes) > list.room) list.flush(pass);
        if (mask != 0) {
            const int i = __ffs(static_cast<int>(mask)) - 1;
            mask &= mask - 1;
            const int at = list.count + __popc(lanes & lower_lanes);
            entry(value(i), i, list.entries[at], list.queries[at]);
        }
        list.count += __popc(lanes);
    }
}

// The same of values in registers, of which bit i is of value i % 16.
template <class T, class Entry>
__device__ __forceinline__ void append_to_list(std::uint32_t mask, const T* values, WarpList& list,
                                               const FilterPass& pass, Entry entry) {
    append_bits(
        mask, [&](int i) { return pick16(values, i); }, list, pass, entry);
}

// The threshold of a row as a point, for columns that are queries: a pair passes when a -
// column_threshold is not above it. -half_norm, widened by more than the subtraction rounds.
__device__ __forceinline__ float point_threshold(float half_norm) {
    return __fmaf_ru(fabsf(half_norm), 0x1p-22f, -half_norm);
}

// A thread's tile: its upper row, its first column, and their thresholds. The lower row is 8 below.
struct ThreadTile {
    std::uint32_t row, column;
    float upper_threshold, lower_threshold;  // of the rows as queries; NaN: no pair passes
    float upper_point_threshold = 0, lower_point_threshold = 0;  // of the rows as points
    const float2* column_threshold = nullptr;  // of the columns as queries, in shared memory
};

// Of a thread's two rows: values up to which pairs are counted and not appended, and how many were.
struct ThreadCounts {
    float upper_sure, lower_sure;  // NaN: none is
    int upper = 0, lower = 0;

    // What is left of the mask of 16 values. -inf is of a point that is not covered.
    __device__ __forceinline__ std::uint32_t take(std::uint32_t mask, const float* values) {
        std::uint32_t sure = 0;
#pragma unroll
        for (int i = 0; i < 16; ++i)
            if (values[i] <= (i & 2 ? lower_sure : upper_sure) && values[i] >= -largest_f32)
                sure |= 1u << i;
        sure &= mask;
        upper += __popc(sure & 0x3333u);
        lower += __popc(sure & 0xccccu);
        return mask & ~sure;
    }
};

// A thread's accumulators of 16 rows and `size / 2` columns in the layout that wgmma and mma.sync
// share: value i belongs to the thread's upper row, or with i & 2 to its lower, and to column (i /
// 4) * 8 + (lane % 4) * 2 + i % 2. Appends what is within the rows' thresholds and, with `both`,
// within the columns'; but for what is counted. One vote tells which 16 values of a thread hold
// any; mostly none do.
template <int size, bool both = false, bool counts = false>
__device__ __forceinline__ void append_candidates(const float* v, const ThreadTile& tile,
                                                  WarpList& list, const FilterPass& pass,
                                                  ThreadCounts* counted = nullptr) {
    constexpr int groups = size / 16;
    const auto columns = [&](int group, int i) {
        return tile.column_threshold[(group * 4 + i / 4) * 4];
    };
    std::uint32_t hit = 0;
#pragma unroll
    for (int group = 0; group < groups; ++group) {
        const float infinity = __int_as_float(0x7f800000);
        float upper = infinity, lower = infinity, upper_shifted = infinity,
              lower_shifted = infinity;
#pragma unroll
        for (int i = 0; i < 16; i += 4) {
            const float* const x = v + group * 16 + i;
            upper = fminf(upper, fminf(x[0], x[1]));
            lower = fminf(lower, fminf(x[2], x[3]));
            if constexpr (both) {
                const float2 threshold = columns(group, i);
                upper_shifted = fminf(upper_shifted, fminf(x[0] - threshold.x, x[1] - threshold.y));
                lower_shifted = fminf(lower_shifted, fminf(x[2] - threshold.x, x[3] - threshold.y));
            }
        }
        if (upper <= tile.upper_threshold || lower <= tile.lower_threshold) hit |= 1u << group;
        if (both && (upper_shifted <= tile.upper_point_threshold ||
                     lower_shifted <= tile.lower_point_threshold))
            hit |= 16u << group;
    }
    hit = __reduce_or_sync(0xffffffffu, hit);
    if (hit == 0) return;
#pragma unroll
    for (int group = 0; group < groups; ++group) {
        if (!(hit >> group & (both ? 17u : 1u))) continue;
        const float* const values = v + group * 16;
        std::uint32_t mask = 0;  // bits of the rows as queries, and above these of the columns
#pragma unroll
        for (int i = 0; i < 16; ++i)
            if (values[i] <= (i & 2 ? tile.lower_threshold : tile.upper_threshold)) mask |= 1u << i;
        if constexpr (counts) mask = counted->take(mask, values);
        if constexpr (both) {
#pragma unroll
            for (int i = 0; i < 16; i += 4) {
                const float2 threshold = columns(group, i);
                if (values[i] - threshold.x <= tile.upper_point_threshold) mask |= 0x10000u << i;
                if (values[i + 1] - threshold.y <= tile.upper_point_threshold)
                    mask |= 0x20000u << i;
                if (values[i + 2] - threshold.x <= tile.lower_point_threshold)
                    mask |= 0x40000u << i;
                if (values[i + 3] - threshold.y <= tile.lower_point_threshold)
                    mask |= 0x80000u << i;
            }
        }
        append_to_list(
            mask, values, list, pass, [&](float a, int i, Candidate& entry, std::uint32_t& query) {
                const std::uint32_t row = tile.row + (i & 2 ? 8u : 0u),
                                    column =
                                        tile.column +
                                        static_cast<std::uint32_t>(group * 4 + i % 16 / 4) * 8 +
                                        i % 2;
                const bool as_query = both && i >= 16;
                entry = {a, as_query ? row : column};
                query = as_query ? column | WarpList::column : row;
            });
    }
}

// The other epilogue: stores every value. `out` is the upper row at the thread's first column.
template <int size>
__device__ __forceinline__ void store_all(const float* v, float* out, std::int64_t ld, bool upper,
                                          bool lower) {
#pragma unroll
    for (int i = 0; i < size; i += 4) {
        if (upper) *reinterpret_cast<float2*>(out + i / 4 * 8) = make_float2(v[i], v[i + 1]);
        if (lower)
            *reinterpret_cast<float2*>(out + 8 * ld + i / 4 * 8) = make_float2(v[i + 2], v[i + 3]);
    }
}

}  // namespace kith::gpu
