// Queues of one thread that keep the k smallest of a row: insertion, heap and merge queue (Tang
// 2015, III.B-C).
//
// A thread owns the queue of one row; a warp owns 32 consecutive rows. Position p of row r is
// queue[p * rows + r] of the workspace, so a warp that works on one position reads and writes
// adjacent words.
//
// All queues have one interface:
//
//   capacity(k)               positions of workspace per row
//   head()                    the largest entry kept: only smaller ones may enter; packed_end until
//                             k have entered
//   insert(wanted, x)         called by all lanes of a warp together; takes x if `wanted`,
//                             which implies x < head()
//   entry(p)                  the entries kept, 0 <= p < k, in unspecified order; packed_end if
//                             fewer have entered
//   rename(p, x)              replaces entry p by x, which is ordered among the others like it
//   drain(row, out, sorted)   writes the result; the queue is spent
//
// Ties: the paper keeps value and index in two queues of 4 bytes and compares values alone. Here an
// entry is one Packed of 8 bytes: an equal number of bytes, and 64-bit comparisons in place of
// 32-bit ones.
#pragma once

#include "gpu/primitives/block.cuh"
#include "gpu/primitives/tally.cuh"
#include "gpu/select/result.cuh"

namespace kith::gpu {

// Sorts before every value: no value has the key 0.
inline constexpr Packed packed_before = 0;

// The positions of one row's queue.
struct QueueSlots {
    Packed* first;
    std::int64_t step;
    // Counts of updates per position (Tang 2015, Fig. 5), far positions in one slot, and of
    // insertions; may be null.
    unsigned long long* counts;
    bool alive;  // false in lanes that own no row: they vote, and touch nothing

    __device__ __forceinline__ Packed get(int p) const { return first[p * step]; }
    __device__ __forceinline__ void place(int p, Packed x) const { first[p * step] = x; }
    __device__ __forceinline__ void count(int p) const {
        if (counts) KITH_COUNT(counts, min(p, insertion_slot - 1), 1);
    }
    __device__ __forceinline__ void count_insertion() const {
        if (counts) KITH_COUNT(counts, insertion_slot, 1);
    }
    __device__ __forceinline__ void set(int p, Packed x) const {
        place(p, x);
        count(p);
    }
    __device__ __forceinline__ void fill(int from, int to, Packed x) const {
        if (alive)
            for (int p = from; p < to; ++p) place(p, x);
    }
    // Inserts x into positions 0 .. size - 1, which descend; the head drops out. Returns the new
    // head.
    __device__ __forceinline__ Packed shift_in(int size, Packed x) const {
        constexpr int ahead = 4;  // loads in flight
        Packed head = x;
        bool moving = true;
        int p = 0;
        while (moving) {
            Packed next[ahead];
#pragma unroll
            for (int i = 0; i < ahead; ++i)
                next[i] = p + i + 1 < size ? get(p + i + 1) : packed_before;
            if (p == 0 && next[0] > x) head = next[0];
            int moved = 0;
#pragma unroll
            for (int i = 0; i < ahead; ++i) {
                moving = moving && next[i] > x;
                if (moving) {
                    set(p + i, next[i]);
                    ++moved;
                }
            }
            p += moved;
        }
        set(p, x);
        return head;
    }
};

// The common part of the queues: the head in a register, and initially packed_end in k positions.
// If a queue needs more positions, those hold packed_before.
class RowQueue {
public:
    static constexpr std::int64_t capacity(std::int64_t k) { return k; }

    __device__ RowQueue(QueueSlots slots, int k) : RowQueue(slots, k, k) {}
    __device__ __forceinline__ Packed head() const { return head_; }
    __device__ __forceinline__ Packed entry(int p) const { return slots_.get(p); }
    // Gives entry p another index; the order of the entries must not change.
    __device__ __forceinline__ void rename(int p, Packed x) {
        slots_.place(p, x);
        if (p == 0) head_ = x;
    }

protected:
    __device__ RowQueue(QueueSlots slots, int k, int size) : slots_(slots), k_(k), size_(size) {
        slots_.fill(0, k, packed_end);
        slots_.fill(k, size, packed_before);
    }

    QueueSlots slots_;
    int k_, size_;
    Packed head_ = packed_end;
};

// Fully ordered, descending from the head: O(k) per insertion.
class InsertionQueue : public RowQueue {
public:
    using RowQueue::RowQueue;

    __device__ __forceinline__ void insert(bool wanted, Packed x) {
        if (!wanted) return;
        slots_.count_insertion();
        head_ = slots_.shift_in(k_, x);
    }
    __device__ void drain(std::int64_t row, const SelectOut& out, bool) {
        for (int p = 0; p < k_; ++p) out.put(row, k_ - 1 - p, slots_.get(p));
    }
};

// A binary tree with parents larger than their children: O(log k) per insertion, each lane on a
// path of its own.
class HeapQueue : public RowQueue {
public:
    using RowQueue::RowQueue;

    __device__ __forceinline__ void insert(bool wanted, Packed x) {
        if (!wanted) return;
        slots_.count_insertion();
        replace_head(x, k_);
    }
    // The second half of heap sort: the head goes to the end of the shrinking heap.
    __device__ void drain(std::int64_t row, const SelectOut& out, bool sorted) {
        if (!sorted) {
            for (int p = 0; p < k_; ++p) out.put(row, p, slots_.get(p));
            return;
        }
        slots_.counts = nullptr;
        for (int last = k_ - 1; last > 0; --last) {
            out.put(row, last, head_);
            replace_head(slots_.get(last), last);
        }
        out.put(row, 0, head_);
    }

private:
    // replace_root (primitives/heap.cuh) for positions that are far apart in global memory: both
    // children are loaded at once, the head stays in a register, and updates are counted by
    // position.
    __device__ __forceinline__ void replace_head(Packed x, int size) {
        head_ = x;
        int p = 0;
        while (2 * p + 1 < size) {
            int child = 2 * p + 1;
            Packed larger = slots_.get(child);
            const Packed right = child + 1 < size ? slots_.get(child + 1) : packed_before;
            if (right > larger) {
                larger = right;
                ++child;
            }
            if (larger < x) break;
            if (p == 0) head_ = larger;
            slots_.set(p, larger);
            p = child;
        }
        slots_.set(p, x);
    }
};

// Levels of m, m, 2m, 4m ... positions (m = 8 in the paper), each descending, with heads that
// descend too. Alg. 2: an entry goes into the first level by insertion. Only if a level's head has
// fallen below the next one's are the two merged, with all levels before them (lazy update):
// O(log^2 k) per insertion on average. `aligned`: a warp vote at each level; if one lane must
// merge, all do.
//
// A k that is no m * 2^j is rounded up, and the positions from k on always hold packed_before. They
// stay at the end of the last level, because any step that moves them sorts the whole queue. So the
// head is the k-th smallest, not a later one.
template <bool aligned, int m = 8>
class MergeQueue : public RowQueue {
    static_assert(m >= 4 && (m & (m - 1)) == 0);  // a merge takes eight entries at a time

public:
    static constexpr std::int64_t capacity(std::int64_t k) {
        std::int64_t size = m;
        while (size < k) size *= 2;
        return size;
    }

    __device__ MergeQueue(QueueSlots slots, int k)
        : RowQueue(slots, k, static_cast<int>(capacity(k))) {}
    __device__ __forceinline__ void insert(bool wanted, Packed x) {
        if (aligned ? !__any_sync(whole_warp, wanted) : !wanted) return;
        if (wanted) {
            slots_.count_insertion();
            head_ = slots_.shift_in(m, x);
        }
        for (int level = 0, next = m; next < size_; level = next, next *= 2) {
            bool fallen = false;
            if (slots_.alive) fallen = (level ? slots_.get(level) : head_) < slots_.get(next);
            if (aligned ? !__any_sync(whole_warp, fallen) : !fallen) return;
            if (slots_.alive) merge(2 * next);
        }
    }
    __device__ void drain(std::int64_t row, const SelectOut& out, bool sorted) {
        slots_.counts = nullptr;
        if (sorted)
            for (int next = m; next < size_; next *= 2) merge(2 * next);
        for (int p = 0; p < k_; ++p) out.put(row, k_ - 1 - p, slots_.get(p));
    }

private:
    __device__ __forceinline__ void order(Packed& larger, Packed& smaller, int p, int q) const {
        if (smaller > larger) {
            const Packed swapped = larger;
            larger = smaller;
            smaller = swapped;
            slots_.count(p);
            slots_.count(q);
        }
    }

    // Steps q * 2^(bits-1) .. q of the merge network on positions 0 .. size - 1. Eight entries at a
    // time are in registers: those of 8 >> bits neighbouring groups, each of 2^bits entries that
    // are q apart.
    template <int bits>
    __device__ __forceinline__ void steps(int size, int q) const {
        constexpr int each = 1 << bits, groups = 8 / each;
        for (int t = 0; t < size / each; t += groups) {
            const auto first_of = [&](int group) {
                return (group & (q - 1)) + ((group & ~(q - 1)) << bits);
            };
            const int base = first_of(t);
            int p[8];
            Packed x[8], before[8];
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                // Groups are adjacent, unless they are closer than that (m = 4 alone).
                p[i] = (m < 8 ? first_of(t + i / each) : base + i / each) + i % each * q;
                x[i] = before[i] = slots_.get(p[i]);
            }
#pragma unroll
            for (int apart = each / 2; apart > 0; apart /= 2)
#pragma unroll
                for (int i = 0; i < 8; ++i)
                    if ((i & apart) == 0) order(x[i], x[i + apart], p[i], p[i + apart]);
#pragma unroll
            for (int i = 0; i < 8; ++i)
                if (x[i] != before[i]) slots_.place(p[i], x[i]);
        }
    }

    // The reverse bitonic merge (Fig. 2b) of two descending halves into positions 0 .. size - 1.
    // The first step compares crosswise; the others are the bitonic network's, three per pass over
    // memory.
    __device__ void merge(int size) {
        constexpr int pairs = 4;
        const int half = size / 2;
        for (int i = 0; i < half; i += pairs) {
            Packed x[pairs], y[pairs];
#pragma unroll
            for (int j = 0; j < pairs; ++j) {
                x[j] = slots_.get(i + j);
                y[j] = slots_.get(size - 1 - i - j);
            }
#pragma unroll
            for (int j = 0; j < pairs; ++j) {
                if (x[j] > y[j]) continue;
                order(x[j], y[j], i + j, size - 1 - i - j);
                slots_.place(i + j, x[j]);
                slots_.place(size - 1 - i - j, y[j]);
            }
        }
        int left = 31 - __clz(half), q = half;  // steps left; distance of the last one done
        if (left % 3 == 1) steps<1>(size, q /= 2);
        if (left % 3 == 2) steps<2>(size, q /= 4);
        for (left -= left % 3; left > 0; left -= 3) steps<3>(size, q /= 8);
        head_ = slots_.get(0);
    }
};

}  // namespace kith::gpu
