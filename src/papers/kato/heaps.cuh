// Phase 2 of a graph in grids (Kato and Hosino 2009, Fig. 8): each row of a grid's values goes to
// the heap of its point.
//
// grid (launch)   a block per row of values
// block           its threads read the row side by side, so that reads are coalesced
// thread          keeps values that are nearer than the root of the heap in a buffer of its own
//
// A heap has the k nearest so far of a row, the furthest at the root. It is in shared memory while
// a block has it, if there is room. One thread pushes the buffered values while the others wait.
#pragma once

#include "exact/order.h"
#include "gpu/primitives/f32.h"
#include "gpu/runtime/check.h"

namespace kith::gpu::heaps {

inline constexpr int push_threads = 128, buffer_size = 4, staged_room = push_threads * buffer_size;
// Entries of a heap that shared memory holds in addition to the staged ones.
inline constexpr std::int64_t shared_heap = 3072;

// The k nearest so far, by (key, id). The keys are those of T (exact/order.h).
template <class T>
struct Heap {
    using Key = typename exact::Order<T>::Key;
    static constexpr Key missing = exact::Order<T>::nan;
    Key* keys;
    std::uint32_t* ids;
    int k;

    __device__ static bool after(Key ka, std::uint32_t ia, Key kb, std::uint32_t ib) {
        return ka != kb ? ka > kb : ia > ib;
    }
    __device__ bool takes(Key key, std::uint32_t id) const {
        return key != missing && after(keys[0], ids[0], key, id);
    }
    // Replaces the root.
    __device__ void push(Key key, std::uint32_t id) const {
        int at = 0;
        for (int child = 1; child < k; child = 2 * at + 1) {
            if (child + 1 < k && after(keys[child + 1], ids[child + 1], keys[child], ids[child]))
                ++child;
            if (!after(keys[child], ids[child], key, id)) break;
            keys[at] = keys[child];
            ids[at] = ids[child];
            at = child;
        }
        keys[at] = key;
        ids[at] = id;
    }
};

// Rows of canonical keys.
struct KeyRows {
    using Value = double;
    const std::uint64_t* keys;
    std::int64_t stride;
    __device__ std::uint64_t key(std::int64_t row, int column) const {
        return keys[row * stride + column];
    }
};

// Rows of f32 values. `norm`: added to those of a column; +inf if its point has a NaN. `own`: row i
// and column i are one point.
struct ValueRows {
    using Value = float;
    const float* values;
    std::int64_t stride;
    const float* norm;
    bool own;
    __device__ std::uint32_t key(std::int64_t row, int column) const {
        const float value = values[row * stride + column] + norm[column];
        const bool there = value <= largest_f32 && !(own && row == column);
        return there ? exact::Order<float>::key(value) : exact::Order<float>::nan;
    }
};

template <class Rows>
using KeyOf = typename Heap<typename Rows::Value>::Key;

// The heaps of some rows, k entries each, all bits set at first.
template <class Rows>
struct HeapsOf {
    KeyOf<Rows>* keys;
    std::uint32_t* ids;
    int k;
};

// Pushes row i of `from` to heap i; the columns are the points from first_id on.
template <class Rows>
__global__ void __launch_bounds__(push_threads)
    push_rows_kernel(Rows from, int columns, std::uint32_t first_id, HeapsOf<Rows> heaps,
                     bool in_shared) {
    using Key = KeyOf<Rows>;
    __shared__ Key staged_keys[staged_room];
    __shared__ std::uint32_t staged_ids[staged_room];
    __shared__ int staged;
    extern __shared__ std::uint64_t heap_memory[];
    const auto row = static_cast<std::int64_t>(blockIdx.x);
    const int k = heaps.k;
    Key* const own_keys = heaps.keys + row * k;
    std::uint32_t* const own_ids = heaps.ids + row * k;
    auto* const shared_keys = reinterpret_cast<Key*>(heap_memory);
    using OfRows = Heap<typename Rows::Value>;
    const OfRows heap =
        in_shared ? OfRows{shared_keys, reinterpret_cast<std::uint32_t*>(shared_keys + k), k}
                  : OfRows{own_keys, own_ids, k};
    const auto tid = static_cast<int>(threadIdx.x);
    for (int i = tid; in_shared && i < k; i += push_threads) {
        heap.keys[i] = own_keys[i];
        heap.ids[i] = own_ids[i];
    }
    if (tid == 0) staged = 0;
    __syncthreads();
    for (int first = 0; first < columns; first += staged_room) {
        Key buffer_keys[buffer_size];
        std::uint32_t buffer_ids[buffer_size];
        int count = 0;
#pragma unroll
        for (int l = 0; l < buffer_size; ++l) {
            const int column = first + l * push_threads + tid;
            if (column >= columns) continue;
            const Key key = from.key(row, column);
            const std::uint32_t id = first_id + static_cast<std::uint32_t>(column);
            if (!heap.takes(key, id)) continue;
            buffer_keys[count] = key;
            buffer_ids[count] = id;
            ++count;
        }
        if (__syncthreads_or(count) == 0) continue;
        const int at = count > 0 ? atomicAdd(&staged, count) : 0;
        for (int i = 0; i < count; ++i) {
            staged_keys[at + i] = buffer_keys[i];
            staged_ids[at + i] = buffer_ids[i];
        }
        __syncthreads();
        if (tid == 0) {
            for (int i = 0; i < staged; ++i)
                if (heap.takes(staged_keys[i], staged_ids[i]))
                    heap.push(staged_keys[i], staged_ids[i]);
            staged = 0;
        }
        __syncthreads();
    }
    for (int i = tid; in_shared && i < k; i += push_threads) {
        own_keys[i] = heap.keys[i];
        own_ids[i] = heap.ids[i];
    }
}

template <class Rows>
void push_rows(const Rows& from, std::int64_t rows, std::int64_t columns, std::int64_t first_id,
               const HeapsOf<Rows>& heaps, cudaStream_t stream) {
    const bool in_shared = heaps.k <= shared_heap;
    const std::size_t bytes =
        in_shared ? static_cast<std::size_t>(heaps.k) * (sizeof(KeyOf<Rows>) + 4) : 0;
    push_rows_kernel<<<static_cast<unsigned>(rows), push_threads, bytes, stream>>>(
        from, static_cast<int>(columns), static_cast<std::uint32_t>(first_id), heaps, in_shared);
    check_launch("push_rows");
}

}  // namespace kith::gpu::heaps
