// "sampled-buckets", last step: each bucket is sorted in shared memory and written to its place in
// the result.
//
//   sort_spread    a block per bucket. Entries go to cells: equal parts of the span between the
//   bucket's smallest and
//                  largest entry, 2,048 or 4,096 of them. An entry's place is the number of entries
//                  in earlier cells and of smaller ones in its own; both are few steps, as cells
//                  hold few entries on average.
//   sort_crowded   blocks that share the list of buckets with a crowded cell (many equal values
//   between others): a
//                  bitonic sort. In a kernel of its own, since its registers would cost the other
//                  one half its warps.
//
// Of an unsorted result only the bucket with the k-th entry is sorted; the ones before it are
// copied.
#include "gpu/primitives/block.cuh"
#include "gpu/runtime/device.h"
#include "gpu/runtime/shared_memory.h"
#include "gpu/select/sampled/sampled.cuh"
#include "gpu/select/sampled/sampled_buckets.h"

namespace kith::gpu::sampling {

namespace {

// Entries in a cell beyond which a bitonic sort costs less than counting.
constexpr unsigned most_in_cell = 64;

// Where entries lie between the smallest and the largest of a bucket.
struct Span {
    Packed least;
    int lead;             // leading zeros of the largest difference
    std::uint32_t scale;  // of its 32 highest bits, such that the last cell is the largest entry's

    __device__ Span(Packed smallest, Packed largest, std::uint32_t cells) : least(smallest) {
        const Packed width = largest - smallest;
        lead = width ? __clzll(static_cast<long long>(width)) : 0;
        const Packed top = (width << lead >> 32 | 0x80000000u) + 1;
        scale = static_cast<std::uint32_t>((static_cast<Packed>(cells) << 32) / top);
    }
    Span() = default;
    __device__ __forceinline__ std::uint32_t cell(Packed p) const {
        return __umulhi(static_cast<std::uint32_t>((p - least) << lead >> 32), scale);
    }
};

template <int threads>
__global__ void __launch_bounds__(threads, 1536 / threads)
    sort_spread(SelectOut out, bool sorted, int room, Buckets buckets) {
    constexpr int own = 8, cells = own * threads, warps = threads / 32;
    extern __shared__ __align__(16) Packed entries[];  // `room`, and then the order
    __shared__ __align__(
        16) unsigned ends[cells];  // counts of the cells, their beginnings, their ends
    __shared__ unsigned sums[warps];
    __shared__ Packed smallest[warps], largest[warps];
    __shared__ Span shared_span;
    auto* const order =
        reinterpret_cast<std::uint16_t*>(entries + room);  // places in `entries`, by cells
    const unsigned bucket = blockIdx.x;
    const std::int64_t row = bucket / buckets.per_row;
    const std::int64_t place = buckets.places[bucket], k = out.k;
    const auto count = static_cast<int>(buckets.counts[bucket]);
    const auto t = static_cast<int>(threadIdx.x);
    if (place >= k || count == 0) return;
    const Packed* const list =
        buckets.entries + static_cast<std::int64_t>(bucket) * buckets.capacity;
    if (!sorted && place + count <= k) {
        for (int j = t; j < count; j += threads) out.put(row, place + j, list[j]);
        return;
    }

    Packed least = packed_end, most = 0;
#pragma unroll 4
    for (int j = t; j < count; j += threads) {
        const Packed p = list[j];
        entries[j] = p;
        least = min(least, p);
        most = max(most, p);
    }
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) {
        least = min(least, __shfl_xor_sync(whole_warp, least, apart));
        most = max(most, __shfl_xor_sync(whole_warp, most, apart));
    }
    if (t % 32 == 0) {
        smallest[t / 32] = least;
        largest[t / 32] = most;
    }
    auto* const own_cells = reinterpret_cast<uint4*>(ends) + t * (own / 4);
    own_cells[0] = own_cells[1] = uint4{0, 0, 0, 0};
    __syncthreads();
    if (t == 0) {
        for (int w = 1; w < warps; ++w) {
            least = min(least, smallest[w]);
            most = max(most, largest[w]);
        }
        shared_span = Span(least, most, cells);
    }
    __syncthreads();
    const Span span = shared_span;
    for (int j = t; j < count; j += threads) atomicAdd(&ends[span.cell(entries[j])], 1u);
    __syncthreads();

    uint4 a = own_cells[0], b = own_cells[1];
    const unsigned densest =
        max(max(max(a.x, a.y), max(a.z, a.w)), max(max(b.x, b.y), max(b.z, b.w)));
    if (__syncthreads_or(densest > most_in_cell)) {
        if (t == 0) buckets.crowded[atomicAdd(buckets.crowded_count, 1u)] = bucket;
        return;
    }
    unsigned total = 0;
    const auto begin = [](unsigned& cell, unsigned& before) {
        const unsigned in = cell;
        cell = before;
        before += in;
    };
    unsigned before =
        block_prefix<threads>(a.x + a.y + a.z + a.w + b.x + b.y + b.z + b.w, sums, total);
    begin(a.x, before), begin(a.y, before), begin(a.z, before), begin(a.w, before);
    begin(b.x, before), begin(b.y, before), begin(b.z, before), begin(b.w, before);
    own_cells[0] = a;
    own_cells[1] = b;
    __syncthreads();
    for (int j = t; j < count; j += threads)
        order[atomicAdd(&ends[span.cell(entries[j])], 1u)] = static_cast<std::uint16_t>(j);
    __syncthreads();
    for (int j = t; j < count; j += threads) {
        const Packed p = entries[order[j]];
        const std::uint32_t cell = span.cell(p);
        const unsigned from = cell ? ends[cell - 1] : 0, to = ends[cell];
        unsigned rank = from;
        if (to - from > 1)
            for (unsigned i = from; i < to; ++i) rank += entries[order[i]] < p ? 1 : 0;
        if (place + rank < k) out.put(row, place + rank, p);
    }
}

template <int threads>
__global__ void __launch_bounds__(threads, 1024 / threads)
    sort_crowded(SelectOut out, Buckets buckets) {
    extern __shared__ __align__(16) Packed entries[];
    const unsigned crowded = *buckets.crowded_count;
    for (unsigned i = blockIdx.x; i < crowded; i += gridDim.x) {
        const unsigned bucket = buckets.crowded[i];
        const std::int64_t row = bucket / buckets.per_row, place = buckets.places[bucket];
        const auto count = static_cast<int>(buckets.counts[bucket]);
        const Packed* const list =
            buckets.entries + static_cast<std::int64_t>(bucket) * buckets.capacity;
        for (int j = threadIdx.x; j < count; j += threads) entries[j] = list[j];
        block_sort_in_registers<threads>(entries, count);
        for (int j = threadIdx.x; j < count && place + j < out.k; j += threads)
            out.put(row, place + j, entries[j]);
        __syncthreads();
    }
}

template <int threads>
void spread(const SelectJob& job, const SelectOut& out, const Buckets& buckets, unsigned most) {
    const int room = static_cast<int>(most + 3) / 4 * 4;
    const auto bytes = static_cast<std::size_t>(room) * (sizeof(Packed) + sizeof(std::uint16_t));
    allow_shared_memory(sort_spread<threads>);
    sort_spread<threads>
        <<<static_cast<unsigned>(job.rows * buckets.per_row), threads, bytes, job.stream>>>(
            out, job.sorted, room, buckets);
    check_launch("sort_spread");
}

template <int threads>
void crowded(const SelectJob& job, const SelectOut& out, const Buckets& buckets, unsigned most) {
    unsigned room = 2 * threads;
    while (room < most) room *= 2;
    const auto bytes = static_cast<std::size_t>(room) * sizeof(Packed);
    allow_shared_memory(sort_crowded<threads>);
    const std::int64_t grid =
        std::min<std::int64_t>(job.rows * buckets.per_row,
                               std::int64_t{1024} * device_attributes().multiprocessors / threads);
    sort_crowded<threads>
        <<<static_cast<unsigned>(grid), threads, bytes, job.stream>>>(out, buckets);
    check_launch("sort_crowded");
}

}  // namespace

void sort_buckets(const SelectJob& job, const SelectOut& out, const Buckets& buckets,
                  unsigned most) {
    constexpr unsigned small = 4096;
    if (most <= small) {
        spread<256>(job, out, buckets, most);
        crowded<256>(job, out, buckets, most);
    } else {
        spread<512>(job, out, buckets, most);
        crowded<1024>(job, out, buckets, most);
    }
}

}  // namespace kith::gpu::sampling
