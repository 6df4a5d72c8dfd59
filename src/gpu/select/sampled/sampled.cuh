// Device code of the selector "sampled": a threshold from a sample, a scan with few candidates, a
// sort of the candidates.
//
// The threshold is a pair (value, index): the r-th smallest of a sample that is spread over the
// row. Its r is a few standard deviations above the expected rank of the k-th smallest. Ties need
// no care: in a constant row the pair admits just enough indices. The order of a row needs none
// either, since the sample covers all of it. If the sample misleads, there are fewer than k
// candidates, or more than fit. Then the row is scanned again with a running threshold, so the
// answer never depends on luck.
#pragma once

#include "gpu/primitives/block_threshold.cuh"
#include "gpu/primitives/sort/block_sort.cuh"

namespace kith::gpu::sampling {

// Values that a thread reads at a time, as vectors of four.
inline constexpr int held = 16;

// A slice of a row: fewer than 2^31 - 2^16 columns from `first` on. Places within it count from 0.
struct RowSlice {
    const float* values;
    std::uint32_t first;
    int size;

    // The base of the first step: 0, or up to three places before it, so that vectors of four are
    // aligned.
    __device__ int begin() const {
        return -static_cast<int>(reinterpret_cast<std::uintptr_t>(values) / 4 % 4);
    }
};

// A threshold: entries up to and including `last` pass.
struct Limit {
    Packed last;
    float with, without;  // largest values that pass up to `last`'s index, and after it
    bool everything;      // `last` is a NaN

    // `with` and `without` are ascending: of the negated values if the largest are selected.
    __device__ explicit Limit(Packed p) : last(p) {
        constexpr std::uint32_t zero = 0x80000000u;
        const auto key = static_cast<std::uint32_t>(p >> 32);
        const auto value = [](std::uint32_t k) {
            return __uint_as_float(k & zero ? k & ~zero : ~k);
        };
        everything = key == exact::Order<float>::nan;
        with = value(key);
        // -0 and +0 are one value, and so are all NaN.
        without = everything ? __uint_as_float(0x7f800000u) : value(key - (key == zero ? 2 : 1));
    }
};

// Reads a slice in steps of 16 values a thread. The next step is read into the freed registers
// before the block votes on the last one, so reads are always in flight. Values that are needed
// again are read again.
template <int block>
struct Reader {
    static constexpr int step = block * held;
    RowSlice slice;
    bool largest;
    float v[held];

    // The place of a thread's value u in the step at `base`: four adjacent ones, then 4 * block
    // further on.
    __device__ static int place(int base, int u) {
        return base + (u / 4 * block + static_cast<int>(threadIdx.x)) * 4 + u % 4;
    }
    __device__ __forceinline__ bool whole(int base) const {
        return base >= 0 && base + step <= slice.size;
    }
    __device__ __forceinline__ Packed entry(float value, int at) const {
        return pack(value, slice.first + static_cast<std::uint32_t>(at), largest);
    }

    __device__ __forceinline__ void load(int base) {
        if (whole(base)) {
            const auto* const from =
                reinterpret_cast<const float4*>(slice.values + base) + threadIdx.x;
#pragma unroll
            for (int u = 0; u < held; u += 4) {
                const float4 four = from[u / 4 * block];
                v[u] = four.x;
                v[u + 1] = four.y;
                v[u + 2] = four.z;
                v[u + 3] = four.w;
            }
        } else {
#pragma unroll
            for (int u = 0; u < held; ++u) {
                const int at = place(base, u);
                v[u] = at >= 0 && at < slice.size ? slice.values[at] : nothing();
            }
        }
    }

    // Mask of the loaded step's values within the threshold.
    __device__ __forceinline__ unsigned passing(const Limit& limit, int base) const {
        const std::int64_t first = static_cast<std::int64_t>(slice.first) + base;
        const auto last = static_cast<std::int64_t>(index_of(limit.last));
        const bool after = first > last;
        const float most = after ? limit.without : limit.with;
        unsigned mask = largest ? compared<true>(-most) : compared<false>(most);
        if (limit.everything && !after) {
            mask = 0;
#pragma unroll
            for (int u = 0; u < held; ++u) {
                const int at = place(base, u);
                if (at >= 0 && at < slice.size) mask |= 1u << u;
            }
        }
        if (!after && last < first + step) {
            // The threshold's own value passes only up to its own index.
#pragma unroll
            for (int u = 0; u < held; ++u)
                if (mask >> u & 1u && entry(v[u], place(base, u)) > limit.last) mask &= ~(1u << u);
        }
        return mask;
    }
    // Appends the loaded step's values in `mask` to the buffer while there is room; returns those
    // that did not fit.
    __device__ __forceinline__ unsigned append(unsigned mask, int base, Packed* buffer,
                                               int capacity, int* count) const {
        int at = atomicAdd(count, __popc(mask));
#pragma unroll
        for (int u = 0; u < held; ++u) {
            if (!(mask >> u & 1u)) continue;
            if (at < capacity) {
                buffer[at] = entry(v[u], place(base, u));
                mask ^= 1u << u;
            }
            ++at;
        }
        return mask;
    }
    // append() for values that have left the registers, against a threshold that may have been
    // tightened.
    __device__ __forceinline__ unsigned append_again(unsigned mask, int base, const Limit& limit,
                                                     Packed* buffer, int capacity,
                                                     int* count) const {
        unsigned left = 0;
        for (; mask != 0; mask &= mask - 1) {
            const int u = __ffs(static_cast<int>(mask)) - 1, at = place(base, u);
            const Packed p = entry(slice.values[at], at);
            if (p > limit.last) continue;
            const int to = atomicAdd(count, 1);
            if (to < capacity) buffer[to] = p;
            else left |= 1u << u;
        }
        return left;
    }

private:
    // A NaN: passes no comparison.
    __device__ static float nothing() {
        return __uint_as_float(0x7fffffffu);
    }
    template <bool greater>
    __device__ __forceinline__ unsigned compared(float most) const {
        unsigned mask = 0;
#pragma unroll
        for (int u = 0; u < held; ++u)
            if (greater ? v[u] >= most : v[u] <= most) mask |= 1u << u;
        return mask;
    }
};

// A sample of block * mine values, taken in two steps, so that other work can hide the reads. The
// slice is split into block * mine / 8 equal strata. Eight adjacent values at a hashed place of
// each go to eight adjacent threads, so the values of one thread are far apart. A slice shorter
// than twice the sample is read from its beginning.
template <int block, int mine>
struct Sample {
    float v[mine];

    __device__ static int place(const RowSlice& slice, int i) {
        constexpr int strata = block * mine / sample_group;
        const int lane = static_cast<int>(threadIdx.x) % sample_group;
        const int stratum =
            i * (block / sample_group) + static_cast<int>(threadIdx.x) / sample_group;
        const auto length = static_cast<unsigned>(slice.size / strata);
        if (length < 2 * sample_group) return stratum * sample_group + lane;
        return static_cast<int>(sample_start(static_cast<unsigned>(stratum), length)) + lane;
    }
    __device__ __forceinline__ void read(const RowSlice& slice) {
#pragma unroll
        for (int i = 0; i < mine; ++i) {
            const int at = place(slice, i);
            v[i] = at < slice.size ? slice.values[at] : __uint_as_float(0x7fffffffu);
        }
    }
    // The smallest of each mine / items values: for a rank far below their number, as good as the
    // whole sample. Consecutive strata go to different minima, because in a sorted row the smallest
    // values are neighbours.
    template <int items>
    __device__ __forceinline__ void minima(Packed (&x)[items], const RowSlice& slice,
                                           bool largest) const {
#pragma unroll
        for (int i = 0; i < items; ++i) {
            // Places grow with j: among equal keys the first has the smallest index.
            std::uint32_t least = exact::Order<float>::nan;
            int which = i;
#pragma unroll
            for (int j = mine - items + i; j >= 0; j -= items) {
                const std::uint32_t key = exact::Order<float>::key(v[j], largest);
                if (key <= least) {
                    least = key;
                    which = j;
                }
            }
            const int at = place(slice, which);
            x[i] = at < slice.size ? static_cast<Packed>(least) << 32 |
                                         (slice.first + static_cast<std::uint32_t>(at))
                                   : packed_end;
        }
    }
};

// Streams a slice, with its first step loaded, past a threshold into the buffer. When the buffer is
// full, all threads call `make_room(limit)`: it empties some of the buffer, lowers *count and may
// tighten the threshold. Returns after a barrier, with *count entries in the buffer.
template <int block, class MakeRoom>
__device__ __forceinline__ void scan(Reader<block>& reader, Limit limit, Packed* buffer,
                                     int capacity, int* count, MakeRoom make_room) {
    for (int base = reader.slice.begin(); base < reader.slice.size; base += reader.step) {
        unsigned left = reader.passing(limit, base);
        if (left != 0) left = reader.append(left, base, buffer, capacity, count);
        if (base + reader.step < reader.slice.size) reader.load(base + reader.step);
        while (__syncthreads_or(static_cast<int>(left))) {
            make_room(limit);
            left = reader.append_again(left, base, limit, buffer, capacity, count);
        }
    }
    __syncthreads();
}

// The k smallest of a slice (and perhaps more) into the buffer, against a running threshold. A full
// buffer is sorted, its k smallest stay, and the k-th of them is the new threshold. Requires k <
// capacity, a power of two of at most 16 * block.
template <int block>
__device__ __forceinline__ void scan_running(Reader<block>& reader, const Limit& limit, int k,
                                             Packed* buffer, int capacity, int* count) {
    scan(reader, limit, buffer, capacity, count, [&](Limit& now) {
        block_sort_in_registers<block>(buffer, capacity);
        now = Limit(buffer[k - 1]);
        if (threadIdx.x == 0) *count = k;
        __syncthreads();
    });
}

}  // namespace kith::gpu::sampling
