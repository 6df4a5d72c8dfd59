// The merge queue of Tang et al. 2015 (III.B, III.C) for kernels of one's own: the k smallest (key, index) that a
// thread has seen.
//
//     __global__ void nearest(const float* distances, int n, int rows, float* keys, int* indices) {  // by column
//         const int row = blockIdx.x * blockDim.x + threadIdx.x;
//         kith::MergeQueue<32> queue;
//         for (int i = 0; i < n; ++i) queue.insert(row < rows ? distances[i * rows + row] : NAN, i);
//         queue.sort();
//         for (int j = 0; row < rows && j < 32; ++j) {
//             keys[row * 32 + j] = queue.key(j);
//             indices[row * 32 + j] = queue.index(j);
//         }
//     }
//
// Levels of m, m, 2m, 4m ... entries, each descending, with heads that descend too. An entry goes into the first level
// by insertion. Only if a level's head has fallen below the next one's are the two merged, with all levels before them:
// O(log^2 k) an insertion on average. Entries are ordered by (key, index), so the result is that of a stable sort. A
// NaN is never kept. It compiles for the host, too, where a thread is alone.
#pragma once

#include <limits>

#ifdef __CUDACC__
#define KITH_MERGE_QUEUE_FUNCTION __host__ __device__ __forceinline__
#define KITH_MERGE_QUEUE_CALLED __host__ __device__ __noinline__
#else
#define KITH_MERGE_QUEUE_FUNCTION inline
#define KITH_MERGE_QUEUE_CALLED
#endif

namespace kith {

// k: 1 or more. m: entries of the first level, a power of two from 2 on; the paper found 8 best. aligned: all threads
// of a warp merge when one of them must (III.C); then all those of `mask` call insert() together. Queues lie in local
// memory: 8 bytes an entry for float and int.
template <int k, int m = 8, bool aligned = true, class Key = float, class Index = int>
class MergeQueue {
    static_assert(k >= 1 && m >= 2 && (m & (m - 1)) == 0, "k from 1 on, m a power of two");

    static constexpr int whole_levels() {
        int size = m;
        while (size < k) size *= 2;
        return size;
    }

public:
    static constexpr int capacity = whole_levels();
    // The index of an entry that is not there, at key infinity: fewer than k came.
    static constexpr Index none = std::numeric_limits<Index>::max();

    KITH_MERGE_QUEUE_FUNCTION MergeQueue() {
        // The positions from k on sort before all entries, and so stay at the end of the last level.
        for (int p = 0; p < capacity; ++p) {
            keys_[p] = p < k ? infinity : -infinity;
            indices_[p] = p < k ? none : lowest;
        }
    }

    // The largest key kept, once k entries have come: a larger one would not be taken.
    KITH_MERGE_QUEUE_FUNCTION Key threshold() const { return keys_[0]; }
    KITH_MERGE_QUEUE_FUNCTION bool wants(Key key, Index index) const {
        return before(key, index, keys_[0], indices_[0]);
    }

    // Takes the entry if it is among the k smallest so far. Indices of one queue differ.
    KITH_MERGE_QUEUE_FUNCTION void insert(Key key, Index index, unsigned mask = 0xffffffffU) {
        const bool wanted = wants(key, index);
        if (aligned ? !any(mask, wanted) : !wanted) return;
        if (wanted) shift_in(key, index);
        for (int level = 0, next = m; next < capacity; level = next, next *= 2) {
            const bool fallen = before(keys_[level], indices_[level], keys_[next], indices_[next]);
            if (aligned ? !any(mask, fallen) : !fallen) return;
            merge(2 * next);
        }
    }

    // Orders all entries; key(0) is the smallest. insert() may go on after that.
    KITH_MERGE_QUEUE_FUNCTION void sort() {
        for (int next = m; next < capacity; next *= 2) merge(2 * next);
    }
    // The j-th entry, 0 <= j < k: after sort() the j-th smallest, before it any.
    KITH_MERGE_QUEUE_FUNCTION Key key(int j) const { return keys_[k - 1 - j]; }
    KITH_MERGE_QUEUE_FUNCTION Index index(int j) const { return indices_[k - 1 - j]; }

private:
    static constexpr Key infinity = std::numeric_limits<Key>::infinity();
    static constexpr Index lowest = std::numeric_limits<Index>::lowest();

    // False for a NaN on either side.
    static KITH_MERGE_QUEUE_FUNCTION bool before(Key a, Index i, Key b, Index j) { return a < b || (a == b && i < j); }
    static KITH_MERGE_QUEUE_FUNCTION bool any(unsigned mask, bool mine) {
#ifdef __CUDA_ARCH__
        return __any_sync(mask, mine);
#else
        return mask != 0 && mine;
#endif
    }

    // Puts an entry into the first level; that level's head drops out.
    KITH_MERGE_QUEUE_FUNCTION void shift_in(Key key, Index index) {
        int p = 0;
        for (; p + 1 < m && before(key, index, keys_[p + 1], indices_[p + 1]); ++p) {
            keys_[p] = keys_[p + 1];
            indices_[p] = indices_[p + 1];
        }
        keys_[p] = key;
        indices_[p] = index;
    }
    // The larger of two positions comes first.
    KITH_MERGE_QUEUE_FUNCTION void order(int first, int second) {
        if (!before(keys_[first], indices_[first], keys_[second], indices_[second])) return;
        const Key key = keys_[first];
        const Index index = indices_[first];
        keys_[first] = keys_[second];
        indices_[first] = indices_[second];
        keys_[second] = key;
        indices_[second] = index;
    }
    // The reverse bitonic merge (Fig. 2b) of two descending halves: the first step crosswise, then halves of halves.
    KITH_MERGE_QUEUE_CALLED void merge(int size) {
        for (int i = 0; i < size / 2; ++i) order(i, size - 1 - i);
        for (int apart = size / 4; apart > 0; apart /= 2)
            for (int i = 0; i < size; ++i)
                if ((i & apart) == 0) order(i, i + apart);
    }

    Key keys_[capacity];
    Index indices_[capacity];
};

}  // namespace kith

#undef KITH_MERGE_QUEUE_FUNCTION
#undef KITH_MERGE_QUEUE_CALLED
