// What closes a query's list: thresholds from upper values that a block holds in its registers, and the candidates of
// queries that all points are alike to.
#pragma once

#include "exact/order.h"
#include "gpu/filter/candidate_lists.h"
#include "gpu/primitives/block_threshold.cuh"

namespace kith::gpu {

using Order = exact::Order<float>;

__device__ __forceinline__ std::uint32_t upper_key(float a, float f, float ceiling) {
    const float infinity = __int_as_float(0x7f800000), upper = __fadd_ru(a, 2.0f * f);
    return Order::key(f < infinity && upper < ceiling ? upper : infinity);
}

// The threshold that a key of an upper value stands for.
__device__ __forceinline__ float threshold_of(std::uint32_t key, float e, float growth) {
    // A query that is not filtered has none.
    if (e == __int_as_float(0xff800000)) return e;
    return fminf(__fmaf_ru(Order::value(key), growth, 2.0f * e), 3.402823466e38f);
}

struct ListShared {
    std::uint32_t sums[64];
    int kept;
};

// `near`: the keys are near each other (word_threshold).
template <int block, int per_thread, bool near = false>
__device__ __forceinline__ std::uint32_t smallest_key(const std::uint32_t (&keys)[per_thread], std::int64_t order,
                                                      ListShared& s) {
    int in_all = 0;
    const auto word = [](std::uint32_t key) { return key; };
    return sampling::word_threshold<block, near>(keys, static_cast<int>(order), static_cast<int>(order / 16), s.sums,
                                                 in_all, word);
}

// The first rows as the list of a query that all points are alike to, as many as it holds; whether these are enough.
template <int block>
__device__ __forceinline__ bool take_first(const CloseTask& task, std::int64_t query, std::int64_t capacity,
                                           std::uint32_t* ids, ListShared& s) {
    const std::int64_t self = task.self ? task.self[query] : -1, first = min(task.n, capacity);
    std::uint32_t own = 0, neighbours = 0;
    for (std::int64_t row = threadIdx.x; row < first; row += block) own += task.nan[row] == 0;
    block_prefix<block>(own, s.sums, neighbours);
    const bool enough = neighbours >= task.k || first == task.n;
    for (std::int64_t at = 0; enough && at < first; at += block) {
        const std::int64_t row = at + threadIdx.x;
        append<1>(row < first && row != self, &s.kept,
                  [&](int slot, int) { ids[slot] = static_cast<std::uint32_t>(row); });
    }
    return enough;
}

}  // namespace kith::gpu
