// Candidates of a warp by way of shared memory. A tile has few, in different lanes' registers,
// which have no run-time index: lanes that hold some store the sixteen values around them, then all
// lanes look at these together.
#pragma once

#include "gpu/filter/candidates.cuh"

namespace kith::gpu {

// One warp's memory for that: groups of sixteen values, and of each where they are from.
struct WarpExchange {
    static constexpr int most_room = 32 / 4;  // four values a lane
    KITH_HD static constexpr int bytes(int room) { return room * (16 + 1) * 4; }
    // `memory`: at a multiple of 16. `room`: most_room, or 0: nothing is exchanged.
    __device__ WarpExchange(char* memory, int room)
        : values(reinterpret_cast<int4*>(memory)),
          origins(reinterpret_cast<unsigned*>(memory + room * 64)),
          room(room) {}
    int4* values;
    unsigned* origins;  // the lane, and 32 times which group of its values
    int room;
};

// Not over lists of tiles, of which most hold more candidates: on an NVIDIA H100, 2026-11-28,
// 10,000 images of a million, k 100, take 11.4 ms, by exchange of four groups at a time as often as
// needed 14.1.
constexpr bool appends_by_exchange(bool listed) {
    return !listed;
}

// The bits of a value are what follows speaks of.
__device__ __forceinline__ int bits_of(float x) {
    return __float_as_int(x);
}
__device__ __forceinline__ int bits_of(int x) {
    return x;
}

// Four of a thread's values.
template <class T>
__device__ __forceinline__ int4 four_of(const T (&v)[64], int first) {
    return make_int4(bits_of(v[first]), bits_of(v[first + 1]), bits_of(v[first + 2]),
                     bits_of(v[first + 3]));
}

// Both append what passes of those groups of sixteen of a thread's values that `hit` has a bit for.
// Every lane must call. `rows`, the thread's, have
//   of(lane, own)          those of another lane, asked for by all lanes at once, each of which is
//   `own` sixteen(v, first)      which of the values [first, first + 16) pass, as bits
//   passing(four, first)   the same of [first, first + 4), of arbitrary ones too
//   entry(value, i, Candidate&, query&)   the entry of value i

// Each lane its own.
template <class T, class Rows>
__device__ __forceinline__ void append_own(const T (&v)[64], unsigned hit, WarpList& list,
                                           const FilterPass& pass, const Rows& rows) {
#pragma unroll
    for (int group = 0; group < 4; ++group) {
        if (!__any_sync(0xffffffffu, hit >> group & 1u)) continue;
        append_to_list(rows.sixteen(v, group * 16), v + group * 16, list, pass,
                       [&](T value, int i, Candidate& entry, std::uint32_t& query) {
                           rows.entry(bits_of(value), static_cast<unsigned>(group * 16 + i), entry,
                                      query);
                       });
    }
}

// By exchange, unless one lane or one group alone holds any, or more do than have room. `holding`:
// the lanes whose `hit` is not 0. On an NVIDIA H100, 2026-11-28, n 1,048,576, q 8,192, by own lanes
// everywhere and by exchange, ms: deviations i^-0.7 of 1,536 dimensions, k 100, 16.4 and 15.8, of
// 768 10.2 and 9.6; Gaussian, d 16, k 1,000, 5.8 and 5.5. Where few tiles hold any exchanges lose a
// little: d 64, k 10, 2.09 to 2.13 and 2.14 to 2.19; 2.18 where a lane that is alone exchanges as
// well (docs/performance.md, "What passes, by exchange").
template <class T, class Rows>
__device__ __forceinline__ void append_exchanged(const T (&v)[64], unsigned hit, unsigned holding,
                                                 const WarpExchange& exchange, WarpList& list,
                                                 const FilterPass& pass, const Rows& rows) {
    unsigned lanes[4] = {};
    int count = 0, groups = 0;
    if (__popc(holding) > 1) {
#pragma unroll
        for (int group = 0; group < 4; ++group) {
            lanes[group] = __ballot_sync(0xffffffffu, hit >> group & 1u);
            count += __popc(lanes[group]);
            groups += lanes[group] != 0;
        }
    }
    if (groups < 2 || count > exchange.room) {
        append_own(v, hit, list, pass, rows);
        return;
    }
    const unsigned lane = threadIdx.x % 32, lower_lanes = (1u << lane) - 1u;
    int first = 0;
#pragma unroll
    for (int group = 0; group < 4; ++group) {
        if (hit >> group & 1u) {
            const int to = first + __popc(lanes[group] & lower_lanes);
#pragma unroll
            for (int i = 0; i < 4; ++i)
                exchange.values[to * 4 + i] = four_of(v, group * 16 + i * 4);
            exchange.origins[to] = lane + 32 * group;
        }
        first += __popc(lanes[group]);
    }
    __syncwarp();
    // Four values a lane; those beyond are of whatever the memory holds.
    const unsigned origin = exchange.origins[lane / 4],
                   own_first = origin / 32 % 4 * 16 + lane % 4 * 4;
    const int4 four = exchange.values[lane];
    const auto taken = rows.of(origin % 32, lane);
    unsigned mask = taken.passing(four, own_first);
    if (static_cast<int>(lane / 4) >= count) mask = 0;
    append_bits(
        mask, [&](int i) { return i & 2 ? (i & 1 ? four.w : four.z) : (i & 1 ? four.y : four.x); },
        list, pass,
        [&](int value, int i, Candidate& entry, std::uint32_t& query) {
            taken.entry(value, own_first + static_cast<unsigned>(i), entry, query);
        });
    __syncwarp();
}

}  // namespace kith::gpu
