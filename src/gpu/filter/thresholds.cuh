// What closes a query's list: thresholds from upper values that a block holds in its registers, and
// the candidates of queries that all points are alike to.
#pragma once

#include "exact/order.h"
#include "gpu/filter/candidate_lists.h"
#include "gpu/primitives/block_threshold.cuh"
#include "gpu/primitives/f32.h"

namespace kith::gpu {

using Order = exact::Order<float>;

__device__ __forceinline__ std::uint32_t upper_key(float a, float f, float ceiling) {
    const float infinity = __int_as_float(0x7f800000), upper = __fadd_ru(a, 2.0f * f);
    return Order::key(f < infinity && upper < ceiling ? upper : infinity);
}

// The threshold that a key of an upper value stands for. Above lists.farthest there is nothing but
// infinite keys.
__device__ __forceinline__ float threshold_of(std::uint32_t key, float e,
                                              const CandidateLists& lists) {
    // A query that is not filtered has none.
    if (e == __int_as_float(0xff800000)) return e;
    return fminf(__fmaf_ru(Order::value(key), lists.growth, 2.0f * e),
                 fminf(__fadd_ru(lists.farthest, 2.0f * e), largest_f32));
}

// A threshold that all finite keys are within, where there is one of `fit` queries; else +inf,
// which is none.
__device__ __forceinline__ float most_certain(float e, const CandidateLists& lists, bool fit) {
    const float infinity = __int_as_float(0x7f800000);
    return fit && lists.farthest < largest_f32 ? threshold_of(Order::key(infinity), e, lists)
                                               : infinity;
}

// Whether fewer than k points may have finite keys, and a list up to that threshold has all of
// them: the first rows follow. `key`: of the k-th smallest upper value.
__device__ __forceinline__ bool ends_finite(std::uint32_t key, float threshold, float e,
                                            const CandidateLists& lists) {
    return lists.farthest < largest_f32 && !(Order::value(key) < __int_as_float(0x7f800000)) &&
           threshold >= __fadd_ru(lists.farthest, e);
}

struct ListShared {
    std::uint32_t sums[64];
    int kept, self_place;  // entries; of them the place of that which is left out, or -1
};

// `near`: the keys are near each other (word_threshold).
template <int block, int per_thread, bool near = false>
__device__ __forceinline__ std::uint32_t smallest_key(const std::uint32_t (&keys)[per_thread],
                                                      std::int64_t order, ListShared& s) {
    int in_all = 0;
    const auto word = [](std::uint32_t key) { return key; };
    return sampling::word_threshold<block, near>(
        keys, static_cast<int>(order), static_cast<int>(order / 16), s.sums, in_all, word);
}

// How many first rows have k neighbours, or some more, n where there are fewer; 0 where that is
// more than `most`.
template <int block>
__device__ std::int64_t first_rows(const CloseTask& task, std::int64_t most) {
    const std::int64_t step = min((task.k + 31) / 32 * 32, static_cast<std::int64_t>(block));
    std::int64_t rows = 0, neighbours = 0;
    while (rows < task.n && neighbours < task.k) {
        const std::int64_t row = rows + thread_of<block>(),
                           next = min(min(rows + step, task.n), most);
        if (next == rows) return 0;
        neighbours += barrier_count<block>(row < next && task.nan[row] == 0);
        rows = next;
    }
    return rows;
}

// Appends rows [0, rows) to a query's ids, as far as these have room.
template <int block>
__device__ __forceinline__ void append_rows(const CloseTask& task, std::int64_t query,
                                            std::int64_t rows, std::int64_t capacity,
                                            std::uint32_t* ids, ListShared& s) {
    const std::int64_t self = task.self ? task.self[query] : -1;
    for (std::int64_t at = 0; at < rows; at += block) {
        const std::int64_t row = at + thread_of<block>();
        append<1>(row < rows && row != self, &s.kept, [&](int slot, int) {
            if (slot < capacity) ids[slot] = static_cast<std::uint32_t>(row);
        });
    }
    barrier<block>();
}

}  // namespace kith::gpu
