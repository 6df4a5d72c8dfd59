// The searches that feed a queue per thread: plain, buffered (Tang 2015, Alg. 3) and top-down
// (III.E).
//
// A block of two warps owns 64 consecutive rows; a lane owns one row: its queue in the workspace,
// its buffer in a column of the block's shared memory. The lanes of a warp walk the columns in
// step, so their reads are adjacent.
#pragma once

#include "gpu/primitives/bitonic.cuh"
#include "gpu/primitives/registers.cuh"
#include "gpu/runtime/device_memory.h"
#include "papers/select/queues/hierarchy.cuh"
#include "papers/select/queues/queue.cuh"

namespace kith::gpu {

// The variants of a queue's selectors.
enum class QueueSearch : int {
    plain,
    buffer,
    buffer_full,
    buffer_full_sort,
    hp2,
    hp4,
    hp8,
    buffer_hp
};

namespace queue_search {

constexpr int threads = 64;
constexpr int blocks_per_processor = 8;  // at least: 128 registers a thread, which no search spills
constexpr int batch = 8;                 // entries that a lane reads before it looks at the first
constexpr int usual_buffer = 16;         // entries in a lane's buffer

// A sink takes what the lanes of a warp offer in step; packed_end offers nothing.

// Every candidate goes straight into the queue.
template <class Queue>
struct Direct {
    Queue queue;

    __device__ __forceinline__ void offer(Packed x) { queue.insert(x < queue.head(), x); }
    __device__ __forceinline__ void finish() {}
};

// `alone`: a lane whose buffer is full empties it; `full`: when one lane's is, all lanes empty
// theirs; `sort`: these are sorted before, so that the smallest enter first and turn the others
// away.
enum class Flush { alone, full, sort };

template <class Queue, Flush how, int buffer_size = usual_buffer>
struct Buffered {
    Queue queue;
    Packed (*buffer)[threads];
    int count = 0;

    __device__ Buffered(const Queue& empty) : queue(empty) {
        __shared__ Packed buffers[buffer_size][threads];
        buffer = buffers;
    }
    __device__ __forceinline__ void offer(Packed x) {
        if (x < queue.head()) buffer[count++][threadIdx.x] = x;
        const bool full = count == buffer_size;
        if (__any_sync(whole_warp, full)) flush(how == Flush::alone ? full : true);
    }
    __device__ __forceinline__ void finish() { flush(true); }

private:
    __device__ void flush(bool mine) {
        if (how == Flush::sort) sort();
        for (int i = 0; __any_sync(whole_warp, mine && i < count); ++i) {
            const Packed x = mine && i < count ? buffer[i][threadIdx.x] : packed_end;
            const bool wanted = x < queue.head();
            if (how == Flush::sort && !__any_sync(whole_warp, wanted)) break;
            queue.insert(wanted, x);
        }
        if (mine) count = 0;
    }
    __device__ void sort() {
        Packed x[buffer_size];
#pragma unroll
        for (int i = 0; i < buffer_size; ++i)
            x[i] = i < count ? buffer[i][threadIdx.x] : packed_end;
        bitonic::sort_thread(x);
#pragma unroll
        for (int i = 0; i < buffer_size; ++i) buffer[i][threadIdx.x] = x[i];
    }
};

// Offers the entries of a batch one after another, all lanes the same one; skips those that no lane
// wants. (A head only falls, so what it turns away here it would turn away later.)
template <class Sink>
__device__ __forceinline__ void offer_batch(Sink& sink, const Packed (&x)[batch]) {
    unsigned wanted = 0;
#pragma unroll
    for (int i = 0; i < batch; ++i) wanted |= x[i] < sink.queue.head() ? 1u << i : 0u;
    wanted = __reduce_or_sync(whole_warp, wanted);
    while (wanted) {
        const int next = __ffs(static_cast<int>(wanted)) - 1;
        wanted &= wanted - 1;
        sink.offer(entry_at(x, next));
    }
}

struct Work {
    Packed* queues;
    Packed* opened;  // top-down: k entries of each row, as the queues lie; else null
    std::int64_t rows;
    int k;
    bool sorted;
    unsigned long long* counts;
    SelectOut out;
};

template <class Queue>
__device__ __forceinline__ Queue make_queue(const Work& work, std::int64_t row) {
    return Queue(QueueSlots{work.queues + row, work.rows, work.counts, row < work.rows}, work.k);
}

// Alg. 1 (Direct) and Alg. 3 (Buffered): all columns, in order.
template <class Queue, class Sink>
__global__ void __launch_bounds__(threads, blocks_per_processor)
    scan_kernel(const float* values, std::int64_t stride, std::int64_t n, bool largest, Work work) {
    const std::int64_t row = blockIdx.x * static_cast<std::int64_t>(threads) + threadIdx.x;
    const bool alive = row < work.rows;
    Sink sink{make_queue<Queue>(work, row)};
    float ahead[batch];
    const auto read = [&](std::int64_t from) {
#pragma unroll
        for (int i = 0; i < batch; ++i)
            ahead[i] = alive && from + i < n ? __ldg(values + (from + i) * stride + row) : 0.0f;
    };
    read(0);
    for (std::int64_t column = 0; column < n; column += batch) {
        Packed x[batch];
#pragma unroll
        for (int i = 0; i < batch; ++i)
            x[i] = alive && column + i < n
                       ? pack(ahead[i], static_cast<std::uint32_t>(column + i), largest)
                       : packed_end;
        read(column + batch);
        offer_batch(sink, x);
    }
    sink.finish();
    if (alive) sink.queue.drain(row, work.out, work.sorted);
}

// Top-down, with one queue throughout: the top level into it, then level by level the groups of
// what it holds. A minimum of level l + 1 is an entry of level l as well, so the queue keeps it,
// and the rest of its group is offered: the head is low from the start, and few enter. An entry of
// a level's k smallest lies in a group whose minimum is among the level above's k smallest, since
// minima are distinct: each of k smaller minima would be an entry before it.
//
// Where the hierarchy holds keys alone, an entry's index is the first column of its group, until
// the entry is looked up among the group's members on the next level: the first that has its key.
// Groups do not overlap, so no order changes.
template <class Queue, class Sink, class Entry>
__global__ void __launch_bounds__(threads, blocks_per_processor)
    descend_kernel(Hierarchy<Entry> h, Work work) {
    const std::int64_t row = blockIdx.x * static_cast<std::int64_t>(threads) + threadIdx.x;
    const bool alive = row < work.rows;
    Sink sink{make_queue<Queue>(work, row)};
    for (std::int64_t position = 0; position < h.size(h.top); position += batch) {
        Packed x[batch];
#pragma unroll
        for (int i = 0; i < batch; ++i)
            x[i] =
                alive && position + i < h.size(h.top) ? h.at(h.top, position + i, row) : packed_end;
        offer_batch(sink, x);
    }
    sink.finish();
    const int in_group = (1 << h.group_bits) - 1;
    for (int level = h.top - 1; level >= 0; --level) {
        // The queue changes while its groups are searched.
        Packed* const opened = work.opened + row;
        for (int p = 0; alive && p < work.k; ++p) {
            Packed minimum = sink.queue.entry(p);
            if constexpr (Hierarchy<Entry>::keys_alone) {
                minimum = h.member(level, minimum, row);
                sink.queue.rename(p, minimum);
            }
            opened[p * work.rows] = minimum;
        }
        // From the last position to the first: where a queue has an order, its smallest entries are
        // last.
        for (int last = work.k - 1; last >= 0; last -= batch >> h.group_bits) {
            Packed x[batch];
#pragma unroll
            for (int i = 0; i < batch; ++i) {
                const int p = last - (i >> h.group_bits);
                const Packed minimum = alive && p >= 0 ? opened[p * work.rows] : packed_end;
                const std::int64_t group =
                    static_cast<std::int64_t>(index_of(minimum)) >> (level + 1) * h.group_bits;
                const std::int64_t child = (group << h.group_bits) + (i & in_group);
                // A minimum that is no longer before the head has a group of larger entries only.
                const bool open = minimum < sink.queue.head() && child < h.size(level);
                x[i] = open ? h.at(level, child, row) : packed_end;
                if (x[i] == minimum) x[i] = packed_end;
            }
            offer_batch(sink, x);
        }
        sink.finish();
    }
    if (alive) sink.queue.drain(row, work.out, work.sorted);
}

inline unsigned grid_of(const SelectJob& job) {
    return static_cast<unsigned>((job.rows + threads - 1) / threads);
}

inline Work work_of(const SelectJob& job, const Buffer<Packed>& queues, Packed* opened) {
    return {queues.get(),
            opened,
            job.rows,
            static_cast<int>(job.k),
            job.sorted,
            job.counts,
            out_of(job, SelectLayout::by_column)};
}

template <class Queue, class Sink>
void scan(const SelectJob& job) {
    const Buffer<Packed> queues(Queue::capacity(job.k) * job.rows, job.stream);
    scan_kernel<Queue, Sink><<<grid_of(job), threads, 0, job.stream>>>(
        job.f32(), job.stride, job.n, job.largest, work_of(job, queues, nullptr));
    check_launch("scan_kernel");
}

// Entry: what the hierarchy of groups of 2^group_bits holds (hierarchy.cuh).
template <class Queue, class Sink, class Entry = Packed>
void descend(const SelectJob& job, int group_bits) {
    const Buffer<Packed> queues(Queue::capacity(job.k) * job.rows, job.stream);
    const Buffer<Packed> opened(job.k * job.rows, job.stream);
    Hierarchy<Entry> hierarchy = plan_hierarchy<Entry>(job, group_bits);
    const Buffer<Entry> entries(hierarchy_entries(hierarchy), job.stream);
    hierarchy.entries = entries.get();
    build_hierarchy(hierarchy, job.stream);
    descend_kernel<Queue, Sink>
        <<<grid_of(job), threads, 0, job.stream>>>(hierarchy, work_of(job, queues, opened.get()));
    check_launch("descend_kernel");
}

template <class Queue>
void run(const SelectJob& job, QueueSearch search) {
    switch (search) {
        case QueueSearch::plain:
            return scan<Queue, Direct<Queue>>(job);
        case QueueSearch::buffer:
            return scan<Queue, Buffered<Queue, Flush::alone>>(job);
        case QueueSearch::buffer_full:
            return scan<Queue, Buffered<Queue, Flush::full>>(job);
        case QueueSearch::buffer_full_sort:
            return scan<Queue, Buffered<Queue, Flush::sort>>(job);
        case QueueSearch::hp2:
            return descend<Queue, Direct<Queue>>(job, 1);
        case QueueSearch::hp4:
            return descend<Queue, Direct<Queue>>(job, 2);
        case QueueSearch::hp8:
            return descend<Queue, Direct<Queue>>(job, 3);
        default:
            return descend<Queue, Buffered<Queue, Flush::sort>>(job, 2);
    }
}

}  // namespace queue_search

}  // namespace kith::gpu
