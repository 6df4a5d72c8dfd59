// Threshold selection of rows. A block of 256 threads owns a slice of one row and streams it once:
// 16 values per thread and step, compared with the row's threshold; what passes goes to a buffer in
// global memory. A full buffer is compacted: a radix select finds the k-th smallest key, which
// becomes the threshold. Almost nothing passes after the first steps, whatever the order of the
// row; with several slices per row (few rows) finish_rows joins their buffers.
//
// A KeyPolicy says what an element's key is; the k smallest by (key, index) are kept.
#pragma once

#include <cstdint>

#include "exact/order.h"
#include "gpu/primitives/block.cuh"
#include "gpu/runtime/check.h"

namespace kith::gpu {

inline constexpr int select_threads = 256, select_values = 16;
inline constexpr int select_step = select_threads * select_values;

// Buffers of `slots` row slices, `capacity` entries each.
template <class Key>
struct SelectBuffers {
    Key* keys = nullptr;
    std::uint32_t* ids = nullptr;
    Key* threshold_key = nullptr;
    std::uint32_t* threshold_id = nullptr;
    std::int32_t* counts = nullptr;
    std::int32_t capacity = 0;
    std::int32_t slices = 1;  // per row; slot = row * slices + slice
};

struct SelectShared {
    int histogram[256];
    int warp_sums[8];
    int count, incoming, bin, below, equal;
};

// Exclusive prefix of `x` over the block; every thread must call. `total` receives the sum.
__device__ __forceinline__ int block_prefix(int x, SelectShared& s, int& total) {
    return block_prefix<select_threads>(x, s.warp_sums, total);
}

// The k-th smallest of n keys (1 <= k <= n), most significant byte first. `below` receives how many
// are smaller, `equal` how many are equal. Every thread gets the result.
template <class Key, class Get>
__device__ Key block_kth(Get get, int n, int k, SelectShared& s, int& below, int& equal) {
    Key prefix = 0, mask = 0;
    int need = k;
    for (int shift = static_cast<int>(sizeof(Key)) * 8 - 8; shift >= 0; shift -= 8) {
        s.histogram[threadIdx.x] = 0;
        __syncthreads();
        for (int i = threadIdx.x; i < n; i += select_threads) {
            const Key key = get(i);
            if ((key & mask) == prefix)
                atomicAdd(&s.histogram[static_cast<int>((key >> shift) & 255)], 1);
        }
        __syncthreads();
        const int mine = s.histogram[threadIdx.x];
        int total = 0;
        const int before = block_prefix(mine, s, total);
        if (before < need && need <= before + mine) {
            s.bin = threadIdx.x;
            s.below = before;
            s.equal = mine;
        }
        __syncthreads();
        prefix |= static_cast<Key>(s.bin) << shift;
        mask |= static_cast<Key>(255) << shift;
        need -= s.below;
        equal = s.equal;
        __syncthreads();
    }
    below = k - need;
    return prefix;
}

// Elements are exact: Source is float or double (ordered as exact/order.h says, the largest first
// with `flip`), or a ready key.
template <class Source, class KeyType>
struct KeyPolicy {
    using Value = Source;
    using Key = KeyType;
    bool flip = false;
    std::int64_t first_id = 0;  // id of column 0

    __device__ Key key(Source v) const {
        if constexpr (sizeof(Source) == sizeof(Key) &&
                      (std::is_same_v<Source, float> || std::is_same_v<Source, double>))
            return exact::Order<Source>::key(v, flip);
        else return v;
    }
};

// One row slice's state during a kernel.
template <class Policy>
struct RowState {
    using Key = typename Policy::Key;
    Key* keys;
    std::uint32_t* ids;
    std::int32_t capacity;
    Key threshold;  // (key, id) of the k-th
    std::uint32_t threshold_id;
};

// Drops what the k smallest keys among `count` entries make superfluous; s.count receives what is
// left. In place: each chunk of entries is read before anything behind it is written.
template <class Policy>
__device__ void compact(RowState<Policy>& row, std::int64_t k, SelectShared& s, int count) {
    using Key = typename Policy::Key;
    __syncthreads();
    if (count < k) return;
    int below = 0, equal = 0;
    const Key kth = block_kth<Key>([&](int i) { return row.keys[i]; }, count, static_cast<int>(k),
                                   s, below, equal);
    std::uint32_t last_id = 0xffffffffu;
    if (below + equal > k) {
        int id_below = 0, id_equal = 0;
        // Among the entries that tie with the k-th key only the smallest ids stay; the others count
        // as the largest id.
        last_id = block_kth<std::uint32_t>(
            [&](int i) { return row.keys[i] == kth ? row.ids[i] : 0xffffffffu; }, count,
            static_cast<int>(k) - below, s, id_below, id_equal);
    }
    row.threshold = kth;
    row.threshold_id = last_id;
    int kept = 0;
    for (int first = 0; first < count; first += select_threads) {
        const int i = first + static_cast<int>(threadIdx.x);
        Key key = 0;
        std::uint32_t id = 0;
        bool keep = i < count;
        if (keep) {
            key = row.keys[i];
            id = row.ids[i];
            keep = key < kth || (key == kth && id <= last_id);
        }
        int total = 0;
        const int at = kept + block_prefix(keep, s, total);
        __syncthreads();
        if (keep) {
            row.keys[at] = key;
            row.ids[at] = id;
        }
        kept += total;
        __syncthreads();
    }
    if (threadIdx.x == 0) s.count = kept;
    __syncthreads();
}

template <class Policy>
__device__ RowState<Policy> row_state(const SelectBuffers<typename Policy::Key>& b,
                                      std::int64_t slot) {
    RowState<Policy> row;
    row.keys = b.keys + slot * b.capacity;
    row.ids = b.ids + slot * b.capacity;
    row.capacity = b.capacity;
    row.threshold = b.threshold_key[slot];
    row.threshold_id = b.threshold_id[slot];
    return row;
}

// Streams columns [0, cols) of every row, `ld` apart, against the buffers. Ids are first_id +
// column.
template <class Policy>
__global__ void __launch_bounds__(select_threads)
    scan_rows(const typename Policy::Value* data, std::int64_t ld, std::int64_t cols,
              std::int64_t k, Policy policy, SelectBuffers<typename Policy::Key> buffers) {
    using Value = typename Policy::Value;
    using Key = typename Policy::Key;
    constexpr int vector = 16 / static_cast<int>(sizeof(Value));
    __shared__ SelectShared s;
    const std::int64_t slot = blockIdx.x, r = slot / buffers.slices, slice = slot % buffers.slices;
    const std::int64_t per_slice =
        ((cols + buffers.slices - 1) / buffers.slices + select_step - 1) / select_step *
        select_step;
    const std::int64_t begin = slice * per_slice,
                       end = begin + per_slice < cols ? begin + per_slice : cols;
    const Value* const in = data + r * ld;
    RowState<Policy> row = row_state<Policy>(buffers, slot);
    if (threadIdx.x == 0) s.count = buffers.counts[slot];
    __syncthreads();
    const auto passes = [&](Value v, std::int64_t column) {
        const Key key = policy.key(v);
        return key < row.threshold ||
               (key == row.threshold &&
                static_cast<std::uint32_t>(policy.first_id + column) < row.threshold_id);
    };
    const auto append = [&](Value v, std::int64_t column) {
        const int at = atomicAdd(&s.count, 1);
        const auto id = static_cast<std::uint32_t>(policy.first_id + column);
        row.ids[at] = id;
        row.keys[at] = policy.key(v);
    };
    const bool aligned = reinterpret_cast<std::uintptr_t>(in) % 16 == 0;
    for (std::int64_t base = begin; base < end; base += select_step) {
        Value v[select_values];
        const bool whole = aligned && base + select_step <= end;
        const auto column = [&](int u) {
            return whole ? base +
                               (static_cast<std::int64_t>(u / vector) * select_threads +
                                threadIdx.x) *
                                   vector +
                               u % vector
                         : base + static_cast<std::int64_t>(u) * select_threads + threadIdx.x;
        };
        if (whole) {
#pragma unroll
            for (int u = 0; u < select_values; u += vector) {
                const uint4 raw = __ldcs(reinterpret_cast<const uint4*>(in + column(u)));
                __builtin_memcpy(&v[u], &raw, sizeof raw);
            }
        } else {
#pragma unroll
            for (int u = 0; u < select_values; ++u)
                v[u] = column(u) < end ? in[column(u)] : Value{};
        }
        unsigned mask = 0;
#pragma unroll
        for (int u = 0; u < select_values; ++u)
            if (column(u) < end && passes(v[u], column(u))) mask |= 1u << u;
        if (!__syncthreads_or(static_cast<int>(mask))) continue;
        if (threadIdx.x == 0) s.incoming = 0;
        __syncthreads();
        if (mask) atomicAdd(&s.incoming, __popc(mask));
        __syncthreads();
        const bool fits = s.count + s.incoming <= row.capacity;
        __syncthreads();
        if (fits) {
#pragma unroll
            for (int u = 0; u < select_values; ++u)
                if (mask >> u & 1u) append(v[u], column(u));
        } else {
            // Value by value, with room made between them; reloaded, as a run-time index would push
            // v to local memory.
            for (int u = 0; u < select_values; ++u) {
                __syncthreads();
                if (s.count + select_threads > row.capacity) compact(row, k, s, s.count);
                __syncthreads();
                if (column(u) < end) {
                    const Value again = in[column(u)];
                    if (passes(again, column(u))) append(again, column(u));
                }
                __syncthreads();
            }
        }
        __syncthreads();
    }
    __syncthreads();
    if (buffers.slices > 1) compact(row, k, s, s.count);
    if (threadIdx.x == 0) {
        buffers.counts[slot] = s.count;
        buffers.threshold_key[slot] = row.threshold;
        buffers.threshold_id[slot] = row.threshold_id;
    }
}

// After the last scan: joins the slices of each row into its first slot and compacts once more. The
// slots of a row are adjacent, so the joined entries may run into the slots behind the first.
template <class Policy>
__global__ void __launch_bounds__(select_threads)
    finish_rows(std::int64_t k, SelectBuffers<typename Policy::Key> b) {
    using Key = typename Policy::Key;
    __shared__ SelectShared s;
    const std::int64_t slot = static_cast<std::int64_t>(blockIdx.x) * b.slices;
    RowState<Policy> row = row_state<Policy>(b, slot);
    int total = b.counts[slot];
    for (int slice = 1; slice < b.slices; ++slice) {
        const std::int64_t other = slot + slice;
        const int count = b.counts[other];
        for (int first = 0; first < count; first += select_threads) {
            const int i = first + static_cast<int>(threadIdx.x);
            Key key = 0;
            std::uint32_t id = 0;
            if (i < count) {
                key = b.keys[other * b.capacity + i];
                id = b.ids[other * b.capacity + i];
            }
            __syncthreads();
            if (i < count) {
                row.keys[total + i] = key;
                row.ids[total + i] = id;
            }
            __syncthreads();
        }
        total += count;
    }
    if (threadIdx.x == 0) s.count = total;
    __syncthreads();
    compact(row, k, s, total);
    if (threadIdx.x == 0) b.counts[slot] = s.count;
}

}  // namespace kith::gpu
