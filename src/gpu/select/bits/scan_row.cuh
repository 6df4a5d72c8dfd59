// A block scans a stretch of a row into its queue (Hanak 2023, 4.1 and 4.1.5).
//
// The block owns the stretch and walks it in chunks of threads * reads values; a thread owns
// `reads` of a chunk, loaded by up to 16 bytes at once from addresses aligned to that. A value
// passes if it is below the k-th smallest seen, held as a float; what passes goes to the queue's
// buffer in shared memory by one atomic add per thread. What finds the buffer full stays behind
// until the block, which votes once per chunk, has merged the buffer into the queue.
//
// Ties: a value of the chunk has a larger index than everything seen before it, so an equal value
// can be dropped unseen; only what passes is packed. Packed entries cost 8 bytes of shared memory,
// as the thesis' (distance, label) pairs do, and 64-bit comparators in the merges, where the pairs
// compare 32.
//
// A queue (block_queue.cuh, bits_global.cu, queues/block_merge_queue.cu) has: threads, buffer_size,
// shared.buffer, shared.fill, radius(), merge_buffer().
//
// Counted (KITH_COUNT_OPERATIONS): values that enter the buffer in insertion_slot, its merges in
// merge_slot.
#pragma once

#include "gpu/primitives/tally.cuh"
#include "gpu/select/result.cuh"

namespace kith::gpu {

enum class Prefetch {
    none,   // a chunk is read when the last is done
    l2,     // and the next is fetched to the L2 cache at the same time (Hanak 2023, 4.1.5)
    ahead,  // the next chunk is read into the registers that the last has left, before the vote
};

// Values [0, count) of `first`, the first of which has index `index` in its row.
struct Stretch {
    const float* first;
    std::int64_t count;
    std::uint32_t index;
    bool largest;
    unsigned long long* counts;  // SelectJob::counts
};

template <class Queue, int reads, Prefetch prefetch>
class RowScan {
public:
    __device__ __forceinline__ RowScan(Queue& queue, const Stretch& s)
        : queue_(queue),
          largest_(s.largest),
          sign_(s.largest ? 0x80000000u : 0u),
          counts_(s.counts) {
        const auto past =
            static_cast<int>(reinterpret_cast<std::uintptr_t>(s.first) / sizeof(float) % width);
        base_ = s.first - past;
        begin_ = past;
        end_ = past + s.count;
        index_ = s.index - static_cast<std::uint32_t>(past);
    }

    __device__ __forceinline__ void run() {
        float x[reads];
        set_bound();
        if (prefetch == Prefetch::ahead) load(x, 0);
        for (std::int64_t chunk = 0; chunk < end_; chunk += size) {
            if (prefetch != Prefetch::ahead) load(x, chunk);
            if (prefetch == Prefetch::l2) fetch(chunk + size);
            unsigned passed = candidates(x, chunk);
            if (passed) passed = push(x, chunk, passed);
            if (prefetch == Prefetch::ahead && chunk + size < end_) load(x, chunk + size);
            while (__syncthreads_or(static_cast<int>(passed))) {
                merge();
                set_bound();
                if (passed) passed = push_again(chunk, passed);
            }
        }
        if (queue_.shared.fill > 0) merge();
    }

private:
    static constexpr int width = reads < 4 ? reads : 4;  // values of one load
    static constexpr int size = Queue::threads * reads;
    struct alignas(width * sizeof(float)) Vector {
        float of[width];
    };

    Queue& queue_;
    const float* base_;  // aligned to a Vector, at or before the first value
    std::int64_t begin_, end_;
    std::uint32_t index_;  // of base_[0], modulo 2^32
    bool largest_;
    std::uint32_t sign_;
    unsigned long long* counts_;
    float bound_;  // the radius as an ascending() value; NaN while fewer than k are seen or the
                   // k-th is a NaN

    // Whole block, a barrier behind the last push.
    __device__ __forceinline__ void merge() {
        if (threadIdx.x == 0) {
            KITH_COUNT(counts_, merge_slot, 1);
            KITH_COUNT(counts_, insertion_slot, min(queue_.shared.fill, Queue::buffer_size));
        }
        queue_.merge_buffer();
    }

    static __device__ __forceinline__ float nothing() { return __uint_as_float(0x7fffffffu); }
    // Where value i of the thread lies in a chunk.
    static __device__ __forceinline__ int place(int i) {
        return (i / width * Queue::threads + static_cast<int>(threadIdx.x)) * width + i % width;
    }
    __device__ __forceinline__ float ascending(float v) const {
        return __uint_as_float(__float_as_uint(v) ^ sign_);
    }
    __device__ __forceinline__ bool inside(std::int64_t p) const { return p >= begin_ && p < end_; }
    __device__ __forceinline__ Packed entry(float v, std::int64_t p) const {
        return pack(v, index_ + static_cast<std::uint32_t>(p), largest_);
    }

    __device__ __forceinline__ void load(float (&x)[reads], std::int64_t chunk) const {
        if (chunk >= begin_ && chunk + size <= end_) {
            const auto* const from = reinterpret_cast<const Vector*>(base_ + chunk) + threadIdx.x;
#pragma unroll
            for (int i = 0; i < reads; i += width) {
                const Vector v = from[i / width * Queue::threads];
#pragma unroll
                for (int j = 0; j < width; ++j) x[i + j] = v.of[j];
            }
        } else {
#pragma unroll
            for (int i = 0; i < reads; ++i) {
                const std::int64_t p = chunk + place(i);
                x[i] = inside(p) ? base_[p] : nothing();
            }
        }
    }

    __device__ __forceinline__ void fetch(std::int64_t chunk) const {
#pragma unroll
        for (int i = 0; i < reads; i += width) {
            const std::int64_t p = chunk + place(i);
            if (p < end_) asm volatile("prefetch.global.L2 [%0];" ::"l"(base_ + p));
        }
    }

    __device__ __forceinline__ void set_bound() {
        auto key = static_cast<std::uint32_t>(queue_.radius() >> 32);
        const bool open = key == exact::Order<float>::nan;
        if (largest_) key = ~key;
        const std::uint32_t bits = key & 0x80000000u ? key ^ 0x80000000u : ~key;
        bound_ = open ? nothing() : ascending(__uint_as_float(bits));
    }

    // The values of a new chunk that are below the radius. Against a number the comparison of
    // floats is exact: NaNs and what lies outside the stretch fail it, and so do equal values,
    // whose indices are larger.
    __device__ __forceinline__ unsigned candidates(const float (&x)[reads],
                                                   std::int64_t chunk) const {
        unsigned passed = 0;
        if (bound_ == bound_) {
#pragma unroll
            for (int i = 0; i < reads; ++i)
                passed |= static_cast<unsigned>(ascending(x[i]) < bound_) << i;
        } else {
            const bool all = queue_.radius() == packed_end;
#pragma unroll
            for (int i = 0; i < reads; ++i)
                passed |= static_cast<unsigned>(inside(chunk + place(i)) && (all || x[i] == x[i]))
                          << i;
        }
        return passed;
    }

    // Pushes the values of `passed`; returns those that found the buffer full.
    __device__ __forceinline__ unsigned push(const float (&x)[reads], std::int64_t chunk,
                                             unsigned passed) {
        int at = atomicAdd(&queue_.shared.fill, __popc(passed));
#pragma unroll
        for (int i = 0; i < reads; ++i) {
            if (!(passed >> i & 1)) continue;
            if (at < Queue::buffer_size) {
                queue_.shared.buffer[at] = entry(x[i], chunk + place(i));
                passed ^= 1u << i;
            }
            ++at;
        }
        return passed;
    }

    // push() after a merge, whose radius may exclude values: by then their registers have been
    // reused, so they are read once more, from a cache.
    __device__ __forceinline__ unsigned push_again(std::int64_t chunk, unsigned passed) {
        const Packed radius = queue_.radius();
        unsigned left = 0;
        for (; passed != 0; passed &= passed - 1) {
            const int i = __ffs(static_cast<int>(passed)) - 1;
            const std::int64_t p = chunk + place(i);
            const Packed e = entry(base_[p], p);
            if (e >= radius) continue;
            const int at = atomicAdd(&queue_.shared.fill, 1);
            if (at < Queue::buffer_size) queue_.shared.buffer[at] = e;
            else left |= 1u << i;
        }
        return left;
    }
};

}  // namespace kith::gpu
