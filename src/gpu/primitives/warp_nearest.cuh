// The nearest of a stream of (key, id), sorted over the registers of a warp.
#pragma once

#include <cstdint>

#include "gpu/primitives/block.cuh"

namespace kith::gpu {

// Keys are unsigned numbers in the order of the distances (exact/order.h, or the bits of doubles
// that are not negative).
struct KeyAndId {
    std::uint64_t key;
    std::uint32_t id;
    __device__ __forceinline__ bool operator<(const KeyAndId& other) const {
        return key < other.key || (key == other.key && id < other.id);
    }
};
inline constexpr std::uint64_t no_key = 0xffffffffffffffffULL;

__device__ __forceinline__ KeyAndId of_lane(const KeyAndId& x, int lane) {
    return {__shfl_sync(whole_warp, x.key, lane), __shfl_sync(whole_warp, x.id, lane)};
}
__device__ __forceinline__ KeyAndId across(const KeyAndId& x, int mask) {
    return {__shfl_xor_sync(whole_warp, x.key, mask), __shfl_xor_sync(whole_warp, x.id, mask)};
}
// Word by word: a choice between two structs would be one of addresses, and keep them out of
// registers.
__device__ __forceinline__ KeyAndId choose(bool which, const KeyAndId& yes, const KeyAndId& no) {
    return {which ? yes.key : no.key, which ? yes.id : no.id};
}
// One end of a comparator: the upper end keeps the larger one.
__device__ __forceinline__ KeyAndId keep(const KeyAndId& mine, const KeyAndId& other, bool upper) {
    return choose((other < mine) != upper, other, mine);
}

// A warp's 32 * rows smallest, in order: lane l holds those at l + 32 * r. Whole warps call.
template <int rows>
class WarpNearest {
public:
    __device__ __forceinline__ WarpNearest() {
#pragma unroll
        for (int r = 0; r < rows; ++r) best_[r] = {no_key, 0xffffffffu};
    }

    __device__ __forceinline__ KeyAndId operator[](int row) const {
        return best_[row];
    }

    // The one at place k - 1, to every lane.
    __device__ __forceinline__ KeyAndId last(int k) const {
        KeyAndId found = best_[0];
#pragma unroll
        for (int r = 1; r < rows; ++r) found = choose((k - 1) / 32 == r, best_[r], found);
        return of_lane(found, (k - 1) % 32);
    }

    // One of each lane in `lanes`.
    __device__ __forceinline__ void push(const KeyAndId& own, unsigned lanes) {
        if (__popc(lanes) > most_inserted) return merge(own, lanes >> (threadIdx.x % 32) & 1);
        for (; lanes; lanes &= lanes - 1) insert(of_lane(own, __ffs(lanes) - 1));
    }

    // One of each lane that has `any`: the candidates in order, then the smaller ones of both
    // lists: of the list's upper end and the candidates in reverse, which leaves a bitonic
    // sequence.
    __device__ __forceinline__ void merge(const KeyAndId& own, bool any) {
        const int lane = threadIdx.x % 32;
        KeyAndId x = choose(any, own, {no_key, 0xffffffffu});
#pragma unroll 1
        for (int group = 2; group <= 32; group *= 2) {
            x = keep(x, across(x, group - 1), lane & (group / 2));
#pragma unroll 1
            for (int stride = group / 4; stride > 0; stride /= 2)
                x = keep(x, across(x, stride), lane & stride);
        }
        best_[rows - 1] = keep(best_[rows - 1], across(x, 31), false);
        merge_rows<rows / 2>();
#pragma unroll 1
        for (int stride = 16; stride > 0; stride /= 2) {
#pragma unroll
            for (int r = 0; r < rows; ++r)
                best_[r] = keep(best_[r], across(best_[r], stride), lane & stride);
        }
    }

private:
    // More than so many are sorted and merged: that takes about as many instructions as inserting
    // them.
    static constexpr int most_inserted = 10;

    __device__ __forceinline__ void insert(const KeyAndId& x) {
        const int lane = threadIdx.x % 32;
        int place = 0;
#pragma unroll
        for (int r = 0; r < rows; ++r) place += __popc(__ballot_sync(whole_warp, best_[r] < x));
#pragma unroll
        for (int r = rows - 1; r >= 0; --r) {
            KeyAndId before{__shfl_up_sync(whole_warp, best_[r].key, 1),
                            __shfl_up_sync(whole_warp, best_[r].id, 1)};
            if (r > 0) {
                const KeyAndId carried = of_lane(best_[r > 0 ? r - 1 : 0], 31);
                before = choose(lane == 0, carried, before);
            }
            const int here = r * 32 + lane;
            best_[r] = choose(here == place, x, choose(here > place, before, best_[r]));
        }
    }

    // The layers between registers of a lane.
    template <int stride>
    __device__ __forceinline__ void merge_rows() {
        if constexpr (stride > 0) {
#pragma unroll
            for (int r = 0; r < rows; ++r) {
                if ((r & stride) == 0) {
                    const KeyAndId low = best_[r], high = best_[r + stride];
                    best_[r] = keep(low, high, false);
                    best_[r + stride] = keep(high, low, true);
                }
            }
            merge_rows<stride / 2>();
        }
    }

    KeyAndId best_[rows];
};

}  // namespace kith::gpu
