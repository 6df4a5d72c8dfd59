// Multi-pass selection in one stage (Hanak 2023, 4.3): the skeleton that sample select and radix
// select share.
//
// Grid: a block per row. A pass splits the entries in question into 256 buckets and counts them
// (`Split`); the bucket with the k-th entry stays in question. A second pass sends the lower
// buckets' entries to the result and that bucket's entries to a buffer in global memory, and
// everything repeats there, until the block can sort what is left. While the bucket is larger than
// the buffer the row itself is counted again instead. A warp reads 128 adjacent values per load, a
// lane four of them.
//
// Histograms are private to a lane: bin b of lane l is word 32 b + l, so neither banks nor
// addresses collide within a warp, however skewed the buckets are.
#pragma once

#include "gpu/primitives/block_sort.cuh"
#include "gpu/select/row_result.cuh"

namespace kith::gpu {

inline constexpr int multipass_threads = 512, multipass_buckets = 256;
inline constexpr std::uint32_t multipass_base = 4096;  // entries that the block sorts at once

struct MultipassShared {
    union {
        std::uint32_t histogram[multipass_buckets * 32];
        Packed entries[multipass_base];
        std::uint32_t keys[2 * multipass_base];
    };
    std::uint32_t warp_sums[multipass_threads / 32];
    std::uint32_t written, inside, equal;
    std::uint32_t bucket, below, in_bucket;
};

// The bucket with entry `need` (from 1), how many entries lie in the buckets below it and how many
// in it.
struct Bucket {
    std::uint32_t number, below, inside;
};

// Counts entries: bucket_of(entry) for those of the walk that `counted` accepts.
template <class Walk, class Counted, class BucketsOf>
__device__ Bucket find_bucket(const Walk& source, std::uint32_t need, MultipassShared& s,
                              Counted counted, BucketsOf buckets_of) {
    const int lane = threadIdx.x % 32;
    __syncthreads();
    for (int i = threadIdx.x; i < multipass_buckets * 32; i += multipass_threads)
        s.histogram[i] = 0;
    __syncthreads();
    source.walk([&](const auto& entries, unsigned valid) {
        std::uint32_t bucket[4];
        buckets_of(entries, bucket);
#pragma unroll
        for (int j = 0; j < 4; ++j)
            if ((valid >> j & 1u) && counted(entries[j]))
                atomicAdd(&s.histogram[bucket[j] * 32 + lane], 1u);
    });
    __syncthreads();
    std::uint32_t mine = 0, total = 0;
    const unsigned t = threadIdx.x;
    if (t < multipass_buckets)
        for (unsigned l = 0; l < 32; ++l) mine += s.histogram[t * 32 + (l + t) % 32];
    const std::uint32_t before = block_prefix<multipass_threads>(mine, s.warp_sums, total);
    if (t < multipass_buckets && before < need && need <= before + mine) {
        s.bucket = t;
        s.below = before;
        s.in_bucket = mine;
    }
    __syncthreads();
    return {s.bucket, s.below, s.in_bucket};
}

// Entries in question: low <= entry <= high.
struct Interval {
    Packed low, high;
};

// Entries of `source` below the interval to the row's result, those inside to `buffer`, or to the
// result too where `buffer` is null.
template <class Walk>
__device__ void partition(const Walk& source, Interval in, Packed* buffer, std::int64_t row,
                          const RowResult& result, MultipassShared& s) {
    __syncthreads();
    if (threadIdx.x == 0) s.inside = 0;
    __syncthreads();
    source.walk([&](const Packed(&entries)[4], unsigned valid) {
        unsigned below = 0, inside = 0;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            if (entries[j] < in.low) below |= valid & 1u << j;
            else if (entries[j] <= in.high) inside |= valid & 1u << j;
        }
        if (!buffer) below |= inside;
        append(below, entries, &s.written,
               [&](std::uint32_t j, Packed p) { result.put(row, j, p); });
        if (buffer)
            append(inside, entries, &s.inside, [&](std::uint32_t j, Packed p) { buffer[j] = p; });
    });
    __syncthreads();
}

// The `need` smallest of at most multipass_base entries, sorted, behind what the row's result
// holds.
template <class Walk>
__device__ void finish_small(const Walk& source, std::uint32_t count, std::uint32_t need,
                             std::int64_t row, const RowResult& result, MultipassShared& s) {
    __syncthreads();
    block_sort_of<multipass_threads>(s.entries, count,
                                     [&](std::uint32_t i) { return source.get(i); });
    for (std::uint32_t j = threadIdx.x; j < need; j += multipass_threads)
        result.put(row, s.written + j, s.entries[j]);
}

// Split: narrow(source, count, interval, need, s) returns the bucket of entry `need` and narrows
// the interval to it.
template <class Split>
__global__ void __launch_bounds__(multipass_threads, 2)
    multipass_kernel(const float* values, std::int64_t stride, std::uint32_t n, std::uint32_t k,
                     bool largest, Packed* buffers, std::uint32_t capacity, RowResult result) {
    __shared__ MultipassShared s;
    __shared__ typename Split::Splitters splitters;
    const std::int64_t row = blockIdx.x;
    const RowWalk<multipass_threads> whole{values + row * stride, n, largest};
    Packed* const buffer = buffers + row * capacity;
    Split split(splitters, static_cast<std::uint32_t>(row));
    Interval in{0, packed_end};
    std::uint32_t need = k, count = n;
    bool in_row = true, done = false;
    if (threadIdx.x == 0) s.written = 0;
    while (count > multipass_base && need < count) {
        const ListWalk<multipass_threads, Packed> list{buffer, count};
        const Bucket found = in_row ? split.narrow(whole, count, in, need, s)
                                    : split.narrow(list, count, in, need, s);
        need -= found.below;
        done = need == found.inside;
        if (done || found.inside <= capacity) {
            if (in_row) partition(whole, in, done ? nullptr : buffer, row, result, s);
            else
                partition(ListWalk<multipass_threads, Packed, true>{buffer, count}, in,
                          done ? nullptr : buffer, row, result, s);
            in_row = false;
        }
        count = found.inside;
    }
    if (done) return;
    const ListWalk<multipass_threads, Packed> list{buffer, count};
    if (count > multipass_base)
        partition(whole, in, nullptr, row, result, s);  // k == n: all of the row
    else if (in_row) finish_small(whole, count, need, row, result, s);
    else finish_small(list, count, need, row, result, s);
}

// The k smallest of every row. `capacity`: entries of each row's buffer, at least multipass_base
// where n is.
template <class Split>
void multipass_select(const SelectJob& job, std::int64_t capacity) {
    const bool at_once = job.n <= multipass_base || job.k == job.n;
    Buffer<Packed> buffers(at_once ? 0 : job.rows * capacity, job.stream);
    select_then_sort(job, [&](const RowResult& result) {
        multipass_kernel<Split>
            <<<static_cast<unsigned>(job.rows), multipass_threads, 0, job.stream>>>(
                job.f32(), job.stride, static_cast<std::uint32_t>(job.n),
                static_cast<std::uint32_t>(job.k), job.largest, buffers.get(),
                static_cast<std::uint32_t>(capacity), result);
        check_launch("multipass_kernel");
    });
}

}  // namespace kith::gpu
