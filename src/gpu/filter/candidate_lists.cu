// Kernels of candidate_lists.h. A block owns a query, or each of its warps one, and holds the upper
// values a + 2 F of its list in registers; E, the same for all of them, is added at the end, where
// a relative bound grows them too.
#include "gpu/filter/candidate_lists.h"

#include <algorithm>

#include "gpu/filter/levels.h"
#include "gpu/filter/thresholds.cuh"
#include "gpu/runtime/check.h"
#include "gpu/runtime/launch.h"

namespace kith::gpu {

namespace {

__device__ __forceinline__ int length_class(int length) {
    if (length <= 1) return 0;
    const int last = length - 1, octave = 31 - __clz(last);
    return min(4 * octave + ((last << 2 >> octave) & 3) + 1, length_classes - 1);
}

// A thread has `per_thread` values, interleaved with those of adjacent threads. Only the least of
// each of `groups` groups of them takes part in the order statistic: where `order` is small against
// the number of groups, few of the smallest share a group, and the threshold comes out only a
// little larger.
template <int block, int per_thread, int groups>
__global__ void __launch_bounds__(block)
    start_kernel(CandidateLists lists, const float* all, std::int64_t ld, int count, int order) {
    __shared__ ListShared s;
    const std::int64_t query = blockIdx.x;
    const float* const values = all + query * ld;
    const auto at = [](int i) { return static_cast<int>(threadIdx.x) + i * block; };
    // All loads before anything depends on one: indices past the end read the last value and drop
    // it.
    float a[per_thread], f[per_thread];
#pragma unroll
    for (int i = 0; i < per_thread; ++i) a[i] = values[min(at(i), count - 1)];
#pragma unroll
    for (int i = 0; i < per_thread; ++i) f[i] = lists.point_error[min(at(i), count - 1)];
    std::uint32_t keys[groups];
#pragma unroll
    for (int g = 0; g < groups; ++g) {
        keys[g] = Order::nan;
#pragma unroll
        for (int i = g * (per_thread / groups); i < (g + 1) * (per_thread / groups); ++i)
            if (at(i) < count) keys[g] = min(keys[g], upper_key(a[i], f[i], lists.ceiling));
    }
    if (threadIdx.x == 0) s.kept = 0;
    const float threshold = threshold_of(smallest_key<block, groups, true>(keys, order, s),
                                         lists.query_error[query], lists);
    Candidate* const list = lists.candidates + query * lists.capacity;
#pragma unroll
    for (int i = 0; i < per_thread; ++i) {
        append<1>(at(i) < count && a[i] <= threshold, &s.kept, [&](int slot, int) {
            if (slot < lists.capacity) list[slot] = {a[i], static_cast<std::uint32_t>(at(i))};
        });
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        // Entries past the capacity were not written: where the list grows, the next follows the
        // last that was.
        lists.counts[query] = min(s.kept, static_cast<int>(lists.capacity));
        lists.threshold[query] = threshold;
        lists.overflowed[query] = s.kept > lists.capacity;
        atomicAdd(&lists.lengths[length_class(s.kept)], 1u);
        if (s.kept > lists.capacity)
            atomicAdd(&lists.lengths[length_classes + length_class(s.kept)], 1u);
    }
}

// A list in registers.
template <int block, int per_thread>
struct RegisterList {
    Candidate entries[per_thread];
    std::uint32_t keys[per_thread];
    int there, count;  // candidates, and those of them that are in the list
    bool overflowed;

    __device__ RegisterList(const CandidateLists& lists, std::int64_t query) {
        there = lists.counts[query];
        overflowed = lists.overflowed[query] || there > lists.capacity;
        count = min(there, static_cast<int>(lists.capacity));
        const Candidate* const list = lists.candidates + query * lists.capacity;
        // All loads before anything depends on one; indices past the end read the last entry, an
        // empty list none.
        float f[per_thread];
#pragma unroll
        for (int i = 0; i < per_thread; ++i)
            entries[i] = count > 0 ? list[min(index(i), count - 1)] : Candidate{0, 0};
#pragma unroll
        for (int i = 0; i < per_thread; ++i) f[i] = lists.point_error[entries[i].point];
#pragma unroll
        for (int i = 0; i < per_thread; ++i)
            keys[i] = index(i) < count ? upper_key(entries[i].a, f[i], lists.ceiling) : Order::nan;
    }
    __device__ static int index(int i) {
        return thread_of<block>() + i * block;
    }
    __device__ bool within(int i, float threshold) const {
        return index(i) < count && entries[i].a <= threshold;
    }
};

// Lists that one warp of a block holds, where that is enough: room for a list says little of its
// length. On an NVIDIA H100, 2026-11-26, 8,192 lists of some 100 candidates with room for 1,024
// took 42 us as if they were full; 4,096 with room for as many, 2026-11-27, 31 us where one warp of
// each block worked and 13 where all did.
constexpr int per_lane = 8, short_list = 32 * per_lane;

// body<block, per_thread>(query, s) for the queries of a block, one or as many as it has warps: a
// warp has one with a short list, the block the others one after the other.
template <int block, int per_thread, class Body>
__device__ __forceinline__ void by_length(const CandidateLists& lists, ListShared (&s)[block / 32],
                                          const Body& body) {
    if constexpr (block == 32) {
        body.template operator()<block, per_thread>(blockIdx.x, s[0]);
    } else {
        constexpr int warps = block / 32;
        __shared__ int lengths[warps];
        const std::int64_t each = (lists.q + gridDim.x - 1) / gridDim.x, first = blockIdx.x * each;
        const int warp = static_cast<int>(threadIdx.x) / 32,
                  queries = static_cast<int>(min(each, lists.q - first));
        if (static_cast<int>(threadIdx.x) < queries)
            lengths[threadIdx.x] = lists.counts[first + threadIdx.x];
        __syncthreads();
        if (warp < queries && lengths[warp] <= short_list)
            body.template operator()<32, per_lane>(first + warp, s[warp]);
        for (int i = 0; i < queries; ++i) {
            if (lengths[i] <= short_list) continue;
            __syncthreads();
            body.template operator()<block, per_thread>(first + i, s[0]);
        }
    }
}

template <int block, int per_thread>
__device__ __forceinline__ void tighten(const CandidateLists& lists, int order, std::int64_t query,
                                        ListShared& s) {
    const RegisterList<block, per_thread> list(lists, query);
    if (thread_of<block>() == 0) s.kept = 0;
    float threshold = lists.threshold[query];
    if (list.count >= order)
        threshold = fminf(threshold, threshold_of(smallest_key<block>(list.keys, order, s),
                                                  lists.query_error[query], lists));
    barrier<block>();
    Candidate* const out = lists.candidates + query * lists.capacity;
#pragma unroll
    for (int i = 0; i < per_thread; ++i)
        append<1>(list.within(i, threshold), &s.kept,
                  [&](int slot, int) { out[slot] = list.entries[i]; });
    barrier<block>();
    if (thread_of<block>() == 0) {
        lists.counts[query] = s.kept;
        lists.threshold[query] = threshold;
        lists.overflowed[query] = list.overflowed;
        atomicAdd(&lists.lengths[length_class(s.kept)], 1u);
        if (list.overflowed && list.there <= max_candidates)
            atomicAdd(&lists.lengths[length_classes + length_class(list.there)], 1u);
    }
}

template <int block, int per_thread>
__global__ void __launch_bounds__(block) tighten_kernel(CandidateLists lists, int order) {
    __shared__ ListShared s[block / 32];
    by_length<block, per_thread>(
        lists, s, [&]<int threads, int each>(std::int64_t query, ListShared& shared) {
            tighten<threads, each>(lists, order, query, shared);
        });
}

template <int block, int per_thread>
__device__ __forceinline__ void close(const CandidateLists& lists, const FilterForm& form,
                                      const CloseTask& task, std::int64_t query, ListShared& s) {
    const RegisterList<block, per_thread> list(lists, query);
    if (thread_of<block>() == 0) {
        s.kept = 0;
        s.self_place = -1;
    }
    const float infinity = __int_as_float(0x7f800000);
    const auto fitness = task.unfit[query];
    const bool enough = list.count >= task.k && fitness == fit;
    const float e = lists.query_error[query], used = lists.threshold[query];
    const std::uint32_t key = enough ? smallest_key<block>(list.keys, task.k, s) : Order::nan;
    float threshold = enough ? threshold_of(key, e, lists) : most_certain(e, lists, fitness == fit);
    if (enough && threshold > used) {
        // Perhaps a little larger than the k-th upper value: if that one is within the passes'
        // threshold, so is the answer.
        int within = 0;
#pragma unroll
        for (int i = 0; i < per_thread; ++i)
            within += barrier_count<block>(threshold_of(list.keys[i], e, lists) <= used);
        if (within >= task.k) threshold = used;
    }
    const bool fills = fitness == fit && !list.overflowed && ends_finite(key, used, e, lists);
    const bool found = !fills && enough && !list.overflowed && threshold <= used;
    bool sure = found || fitness == no_neighbours;
    barrier<block>();
    if (found) {
        const std::int64_t self = task.self ? task.self[query] : -1;
        std::uint32_t* const ids = task.ids + query * lists.capacity;
#pragma unroll
        for (int i = 0; i < per_thread; ++i)
            append<1>(list.within(i, threshold), &s.kept,
                      [&](int slot, int) { ids[slot] = list.entries[i].point; });
        barrier<block>();
        // Few of the entries: dividing by n takes longer than all else.
        for (int i = thread_of<block>(); i < s.kept; i += block) {
            const std::int64_t row = row_at(form, ids[i], task.n);
            ids[i] = static_cast<std::uint32_t>(row);
            if (row == self) s.self_place = i;
        }
        barrier<block>();
        if (thread_of<block>() == 0 && s.self_place >= 0) ids[s.self_place] = ids[--s.kept];
    }
    if (fills || fitness == all_alike) {
        std::uint32_t* const ids = task.ids + query * lists.capacity;
        const std::int64_t rows = first_rows<block>(task, lists.capacity);
#pragma unroll
        for (int i = 0; fills && i < per_thread; ++i) {
            // The first rows are appended whole.
            const bool near = list.within(i, used);
            const std::int64_t row = near ? row_at(form, list.entries[i].point, task.n) : 0;
            append<1>(near && row >= rows && !(task.self && row == task.self[query]), &s.kept,
                      [&](int slot, int) { ids[slot] = static_cast<std::uint32_t>(row); });
        }
        barrier<block>();
        append_rows<block>(task, query, rows, lists.capacity, ids, s);
        sure = (rows > 0 || task.n == 0) && s.kept <= lists.capacity;
    }
    barrier<block>();
    if (thread_of<block>() == 0) {
        lists.counts[query] = sure ? s.kept : 0;
        if (!sure) lists.threshold[query] = threshold;
        task.status[query] = sure ? certified : uncertain;
        if (sure) atomicAdd(&task.totals[0], static_cast<unsigned long long>(s.kept));
        else atomicAdd(&task.totals[1], 1ull);
    }
}

template <int block, int per_thread>
__global__ void __launch_bounds__(block)
    close_kernel(CandidateLists lists, FilterForm form, CloseTask task) {
    __shared__ ListShared s[block / 32];
    by_length<block, per_thread>(
        lists, s, [&]<int threads, int each>(std::int64_t query, ListShared& shared) {
            close<threads, each>(lists, form, task, query, shared);
        });
}

__global__ void lengths_kernel(const unsigned* lengths, unsigned few, unsigned long long* out) {
    if (threadIdx.x > 3) return;
    const unsigned left = threadIdx.x < 2 ? few : 0;
    unsigned longer = 0;
    int c = length_classes;
    while (c > 0 && longer <= left) longer += lengths[threadIdx.x % 2 * length_classes + --c];
    out[threadIdx.x] = longer > left ? longest_of_class(c) : 0;
}

// A warp owns a list.
__global__ void copy_kernel(CandidateLists lists, Candidate* to, std::int64_t capacity) {
    const std::int64_t query =
        (blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x) / 32;
    if (query >= lists.q) return;
    const auto count = min(static_cast<std::int64_t>(lists.counts[query]), lists.capacity);
    for (std::int64_t i = threadIdx.x % 32; i < count; i += 32)
        to[query * capacity + i] = lists.candidates[query * lists.capacity + i];
}

__global__ void position_rows_kernel(FilterForm form, std::int64_t n, std::int64_t first,
                                     std::int64_t count, std::int64_t* out) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i < count) out[i] = row_at(form, first + i, n);
}

__global__ void column_thresholds_kernel(const float* threshold, const float* half_norm,
                                         std::int64_t n, float* out) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i >= whole_tiles(n)) return;
    // Rounded upwards, and by more than adding one half norm and subtracting the other round.
    const float slack = 0x1p-21f * fmaxf(fabsf(threshold[min(i, n - 1)]), fabsf(half_norm[i]));
    // Padding past n is NaN: no pair passes.
    out[i] = i < n ? __fadd_ru(__fadd_ru(threshold[i], half_norm[i]), slack)
                   : __int_as_float(0x7fffffff);
}

// Launches with a block and a number of entries per thread that hold `entries`: the smallest block
// that does, as what takes a block's time is to wait for its warps, or, where queries are few and
// blocks have the device to themselves, the largest.
template <class Launch>
void sized(std::int64_t entries, std::int64_t queries, Launch launch) {
    if (queries <= few_queries && entries <= 4096) launch.template operator()<1024, 4>();
    else if (entries <= 512) launch.template operator()<32, 16>();
    else if (entries <= 1024) launch.template operator()<64, 16>();
    else if (entries <= 2048) launch.template operator()<128, 16>();
    else if (entries <= 4096) launch.template operator()<256, 16>();
    else if (entries <= 8192) launch.template operator()<512, 16>();
    else launch.template operator()<1024, 16>();
}

// Queries have a block each as long as the device has room for all of them, else some share one
// (by_length). Reasoned: so many blocks are several for each multiprocessor, among which queries
// with long lists spread.
unsigned list_blocks(std::int64_t queries, int block) {
    constexpr std::int64_t least = 1024;
    const std::int64_t each = std::clamp<std::int64_t>(queries / least, 1, block / 32);
    return static_cast<unsigned>((queries + each - 1) / each);
}

}  // namespace

void position_rows(const FilterForm& form, std::int64_t n, std::int64_t first, std::int64_t count,
                   std::int64_t* out, cudaStream_t stream) {
    position_rows_kernel<<<item_blocks(count), item_threads, 0, stream>>>(form, n, first, count,
                                                                          out);
    check_launch("position_rows");
}

void most_lengths(const CandidateLists& lists, unsigned few, unsigned long long* out,
                  cudaStream_t stream) {
    lengths_kernel<<<1, 32, 0, stream>>>(lists.lengths, few, out);
    check_launch("most_lengths");
}

void copy_lists(const CandidateLists& lists, Candidate* to, std::int64_t capacity,
                cudaStream_t stream) {
    copy_kernel<<<blocks_for(lists.q, item_warps), item_threads, 0, stream>>>(lists, to, capacity);
    check_launch("copy_lists");
}

void column_thresholds(const float* threshold, const float* half_norm, std::int64_t n, float* out,
                       cudaStream_t stream) {
    column_thresholds_kernel<<<item_blocks(whole_tiles(n)), item_threads, 0, stream>>>(
        threshold, half_norm, n, out);
    check_launch("column_thresholds");
}

void start_lists(const CandidateLists& lists, const float* all, std::int64_t ld, std::int64_t count,
                 std::int64_t order, cudaStream_t stream) {
    const auto with = [&]<int block, int per_thread>() {
        const auto launch = [&]<int groups>() {
            start_kernel<block, per_thread, groups>
                <<<static_cast<unsigned>(lists.q), block, 0, stream>>>(
                    lists, all, ld, static_cast<int>(count), static_cast<int>(order));
        };
        if (order * 8 <= block && order * 8 <= count) launch.template operator()<1>();
        else if (order * 8 <= block * 4 && order * 8 <= count) launch.template operator()<4>();
        else launch.template operator()<per_thread>();
    };
    if (count <= 4096 && count > 2048 && lists.q > few_queries) with.template operator()<128, 32>();
    else sized(count, lists.q, with);
    check_launch("start_lists");
}

void tighten_lists(const CandidateLists& lists, std::int64_t order, cudaStream_t stream) {
    sized(lists.capacity, lists.q, [&]<int block, int per_thread>() {
        tighten_kernel<block, per_thread>
            <<<list_blocks(lists.q, block), block, 0, stream>>>(lists, static_cast<int>(order));
    });
    check_launch("tighten_lists");
}

void close_lists(const CandidateLists& lists, const FilterForm& form, const CloseTask& task,
                 cudaStream_t stream) {
    sized(lists.capacity, lists.q, [&]<int block, int per_thread>() {
        close_kernel<block, per_thread>
            <<<list_blocks(lists.q, block), block, 0, stream>>>(lists, form, task);
    });
    check_launch("close_lists");
}

}  // namespace kith::gpu
