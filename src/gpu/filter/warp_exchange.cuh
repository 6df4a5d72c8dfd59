// Appends a warp's candidates by way of shared memory. A tile has few candidates, in registers of
// different lanes, which have no run-time index. Lanes with a candidate store the sixteen values
// around it; then all lanes examine these values together.
#pragma once

#include "gpu/filter/lists/candidates.cuh"

namespace kith::gpu {

// One warp's memory for the exchange: groups of sixteen values, and the origin of each group.
struct WarpExchange {
    static constexpr int most_room = 32 / 4;  // four values a lane
    KITH_HD static constexpr int bytes(int room) { return room * (16 + 1) * 4; }
    // `memory`: aligned to 16 bytes. `room`: most_room, or 0 for no exchange.
    __device__ WarpExchange(char* memory, int room)
        : values(reinterpret_cast<int4*>(memory)),
          origins(reinterpret_cast<unsigned*>(memory + room * 64)),
          room(room) {}
    int4* values;
    unsigned* origins;  // the lane, plus 32 times the index of the group of its values
    int room;
};

// Passes over lists of tiles do not exchange: most of their tiles hold more candidates, and an
// exchange of four groups at a time is slower there (measured: lab/*-warp-exchange).
constexpr bool appends_by_exchange(bool listed) {
    return !listed;
}

// The bits of a value; the functions below work with these.
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

// Both append the candidates of a thread's groups of sixteen values that `hit` has a bit for. Every
// lane must call. `rows`, the thread's, have
//   of(lane, own)          the rows of another lane; all lanes call together, each as `own`.
//   sixteen(v, first)      a mask of the candidates among the values [first, first + 16).
//   passing(four, first)   likewise among [first, first + 4); the values may be arbitrary memory.
//   entry(value, i, Candidate&, query&)   the entry of value i.

// Each lane appends its own candidates.
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

// Appends by exchange, unless a single lane or a single group holds candidates, or the groups
// exceed the room. `holding`: the lanes with a non-zero `hit`.
// An exchange is faster if many tiles hold candidates, and costs little otherwise (measured:
// lab/*-warp-exchange).
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
    // Four values per lane. Values past the last group are arbitrary memory.
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
