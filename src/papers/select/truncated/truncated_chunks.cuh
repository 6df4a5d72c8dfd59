// Truncated sorts by sorted sublists and truncated merges (Sismanis 2012, section 2: merge and
// bubble).
//
// Grid: a block per slice of a row, which takes 2048 values at a time: sorts them in shared memory
// into sublists of `length` entries, the power of two from k on, merges the sublists pairwise and
// purges the upper half of each merge until one is left, and merges that with the slice's list. A
// thread owns eight adjacent places of every merge (merge path). The lists of a row are then merged
// pairwise (truncated_lists.h).
//
// Ties: entries are packed (key, index), 8 bytes, one comparison of integers.
#pragma once

#include "gpu/primitives/merge_part.cuh"
#include "papers/select/truncated/truncated_lists.h"

namespace kith::gpu {

inline constexpr int chunk_threads = 256, chunk_places = 8,
                     chunk_size = chunk_threads * chunk_places;

// Merges the sorted lists of `length` entries in `from`, `count` entries in all, pairwise into
// `to`, a thread per eight places of it; `kept` entries of each merge stay.
__device__ __forceinline__ void merge_pairs(const Packed* from, int count, int length, int kept,
                                            Packed* to, Tally& tally) {
    const int first = static_cast<int>(threadIdx.x) * chunk_places;
    const int span = kept < chunk_places ? kept : chunk_places;
    for (int place = first; place < first + chunk_places; place += span) {
        const int pair = place / kept, at = place % kept, begin = pair * 2 * length;
        if (begin >= count) break;
        const int partner = begin + length < count ? length : 0;
        merge_part(from + begin, length, from + begin + length, partner, at, at + span, tally,
                   [&](int j, Packed p) {
                       if (j < length + partner) to[pair * kept + j] = p;
                   });
    }
    __syncthreads();
}

// Sublists: sort(now, other, count, length, tally) sorts the lists of `length` entries in `now`
// (`count` in all), with `other` as work space, and swaps the two where the result ends up there.
template <class Sublists>
__global__ void __launch_bounds__(chunk_threads)
    truncated_chunks_kernel(const float* values, std::int64_t stride, std::int64_t n,
                            std::int64_t k, int length, bool largest, Slices slices, Packed* lists,
                            unsigned long long* counts) {
    extern __shared__ Packed chunks[];
    Packed *now = chunks, *other = chunks + chunk_size, *const best = chunks + 2 * chunk_size;
    const auto [row, begin, end] = slices.of_block(n);
    const float* const in = values + row * stride;
    Tally tally;
    for (std::int64_t base = begin; base < end; base += chunk_size) {
        const auto present =
            static_cast<int>(min(static_cast<std::int64_t>(chunk_size), end - base));
        int count = (present + length - 1) / length * length;
        for (int i = threadIdx.x; i < count; i += chunk_threads)
            now[i] = i < present ? pack(in[base + i], static_cast<std::uint32_t>(base + i), largest)
                                 : packed_end;
        __syncthreads();
        Sublists::sort(now, other, count, length, tally);
        while (count > length) {
            merge_pairs(now, count, length, length, other, tally);
            count = (count / length + 1) / 2 * length;
            Packed* const merged = other;
            other = now;
            now = merged;
        }
        if (base > begin) {
            const int first = static_cast<int>(threadIdx.x) * chunk_places;
            if (first < length)
                merge_part(best, length, now, length, first, first + chunk_places, tally,
                           [&](int j, Packed p) { other[j] = p; });
            __syncthreads();
        }
        const Packed* const merged = base > begin ? other : now;
        for (int i = threadIdx.x; i < length; i += chunk_threads) best[i] = merged[i];
        __syncthreads();
    }
    Packed* const to = lists + blockIdx.x * k;
    for (int j = threadIdx.x; j < k; j += chunk_threads) to[j] = best[j];
    tally.add_to(counts);
}

template <class Sublists>
void truncated_chunks(const SelectJob& job) {
    constexpr std::int64_t wanted = 1024,
                           shortest =
                               2 * chunk_size;  // blocks that fill a device; values worth a block
    int length = chunk_places;
    while (length < job.k) length *= 2;
    const Slices slices = cut_rows(job, wanted, shortest);
    const Buffer<Packed> lists = make_lists(job, slices);
    // 48 KB at most: lists of chunk_size entries.
    const auto bytes = static_cast<std::size_t>(2 * chunk_size + length) * sizeof(Packed);
    truncated_chunks_kernel<Sublists>
        <<<static_cast<unsigned>(job.rows * slices.per_row), chunk_threads, bytes, job.stream>>>(
            job.f32(), job.stride, job.n, job.k, length, job.largest, slices, lists.get(),
            job.counts);
    check_launch("truncated_chunks_kernel");
    join_lists(lists, slices, job);
}

}  // namespace kith::gpu
