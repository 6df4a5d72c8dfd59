// Truncated radix sort (Sismanis 2012, section 2): most significant digit first; buckets beyond the
// k-th place are dropped, the others refined until the first k entries are in order.
//
// Grid: a block per row. A segment of more than 2048 entries is counted by its next digit of eight
// bits and its buckets scattered from one of two buffers in global memory to their places in the
// other; adjacent small buckets then form one segment. Segments of up to 2048 entries are sorted in
// shared memory: by a bitonic network
// ("truncated-radix", whose Table 1 leaves that sort out), or by the digits that are left, least
// significant first
// ("truncated-radix-digits": every operation is a digit taken; CUB's block sort, whose digits have
// four bits: two of them count as one). A lane reads four entries at a time; histograms have eight
// copies against colliding lanes.
//
// Digits are those of the packed (key, index): ties cost up to four digits more.
#include <cub/block/block_radix_sort.cuh>

#include "gpu/primitives/block_sort.cuh"
#include "papers/select/truncated/truncated_segments.cuh"

namespace kith::gpu {

namespace {

constexpr int threads = segment_threads, buckets = 256, copies = 8;
constexpr std::uint32_t local = 2048;
constexpr int digits = static_cast<int>(sizeof(Packed));
constexpr int stack_size =
    digits * buckets;  // a segment leaves at most 256 behind, each a digit further

struct Segment {
    std::uint32_t begin, end;  // places in a buffer, and in the sorted row
};

constexpr int sorted_each = local / threads;  // entries of a thread in a sort by digits
using DigitSort = cub::BlockRadixSort<Packed, threads, sorted_each>;

struct RadixShared {
    union {
        std::uint32_t histogram[buckets * copies];
        Packed entries[local];
        typename DigitSort::TempStorage digit_sort;
    };
    std::uint32_t begin[buckets];   // of a bucket, from its segment's begin
    std::uint32_t cursor[buckets];  // the bucket's next place
    std::uint32_t warp_sums[threads / 32];
    Segment stack[stack_size];
    std::uint8_t digits_done[stack_size];
    int waiting;
};

__device__ __forceinline__ std::uint32_t digit_of(Packed p, int digit) {
    return static_cast<std::uint32_t>(p >> (64 - 8 - 8 * digit)) & 255u;
}

// Scatters the buckets of `source` that begin before place `limit` to `to`, and stacks their
// segments, the first on top. `begin`: of the segment.
template <class Walk>
__device__ void scatter(const Walk& source, int digit, std::uint32_t begin, std::uint32_t limit,
                        Packed* to, RadixShared& s, Tally& tally) {
    __syncthreads();
    for (int i = threadIdx.x; i < buckets * copies; i += threads) s.histogram[i] = 0;
    __syncthreads();
    const unsigned copy = threadIdx.x % copies;
    source.walk([&](const Packed(&entries)[4], unsigned valid) {
#pragma unroll
        for (int j = 0; j < 4; ++j)
            if (valid >> j & 1u)
                atomicAdd(&s.histogram[digit_of(entries[j], digit) * copies + copy], 1u);
        tally.took_digits(static_cast<unsigned>(__popc(valid)));
    });
    __syncthreads();
    std::uint32_t mine = 0, total = 0;
    for (unsigned c = 0; c < copies; ++c)
        mine += s.histogram[threadIdx.x * copies + (c + threadIdx.x) % copies];
    const std::uint32_t before = block_prefix<threads>(mine, s.warp_sums, total);
    s.begin[threadIdx.x] = s.cursor[threadIdx.x] = before;
    __syncthreads();
    source.walk([&](const Packed(&entries)[4], unsigned valid) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const std::uint32_t bucket = digit_of(entries[j], digit);
            if (!(valid >> j & 1u) || s.begin[bucket] >= limit) continue;
            to[atomicAdd(&s.cursor[bucket], 1u)] = entries[j];
            tally.moved();
        }
        tally.took_digits(static_cast<unsigned>(__popc(valid)));
    });
    __syncthreads();
    if (threadIdx.x == 0) {
        // From the last bucket kept to the first: a bucket joins the segment behind it while both
        // fit the local sort.
        std::uint32_t end = 0;
        int waiting = s.waiting;
        bool open = false;
        for (int b = buckets - 1; b >= 0; --b) {
            const std::uint32_t first = s.begin[b], last = s.cursor[b];
            if (first >= limit || first == last) continue;
            if (open && begin + last == s.stack[waiting - 1].begin && end - first <= local) {
                s.stack[waiting - 1].begin = begin + first;
                continue;
            }
            end = last;
            open = true;
            s.digits_done[waiting] = static_cast<std::uint8_t>(digit + 1);
            s.stack[waiting++] = {begin + first, begin + last};
        }
        s.waiting = waiting;
    }
    __syncthreads();
}

// Sorts `count` entries, at most `local`, whose first `digit` digits are anything: adjacent buckets
// share a segment where they differ in the last of these, so that the sort begins there. Behind a
// barrier; s.entries[0, count) are in order behind another.
template <class Get>
__device__ void sort_by_digits(std::uint32_t count, int digit, RadixShared& s, Tally& tally,
                               Get get) {
    Packed x[sorted_each];
#pragma unroll
    for (int i = 0; i < sorted_each; ++i) {
        const std::uint32_t at = threadIdx.x * sorted_each + i;
        x[i] = at < count ? get(at) : packed_end;
    }
    const int open = digits - (digit > 0 ? digit - 1 : 0);
    DigitSort(s.digit_sort).Sort(x, 0, 8 * open);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < sorted_each; ++i) s.entries[threadIdx.x * sorted_each + i] = x[i];
    if (threadIdx.x == 0) tally.took_digits(count * static_cast<unsigned>(open));
    __syncthreads();
}

template <bool by_digits>
__global__ void __launch_bounds__(threads)
    truncated_radix_kernel(const float* values, std::int64_t stride, std::uint32_t n,
                           std::uint32_t k, bool largest, Packed* buffers, SelectOut out,
                           unsigned long long* counts) {
    __shared__ RadixShared s;
    const std::int64_t row = blockIdx.x;
    const RowWalk<threads> whole{values + row * stride, n, largest};
    const SegmentBuffers buffer{buffers, row, n};
    Tally tally;
    if (threadIdx.x == 0) s.waiting = 0;
    if (n > local) scatter(whole, 0, 0, k, buffer(0), s, tally);
    __syncthreads();
    while (n <= local || s.waiting > 0) {
        Segment now{0, n};
        int digit = 0;
        if (n > local) {
            now = s.stack[s.waiting - 1];
            digit = s.digits_done[s.waiting - 1];
        }
        __syncthreads();
        if (threadIdx.x == 0) --s.waiting;
        // A segment lies in buffer 0 after one digit, in buffer 1 after two, and so on.
        const std::uint32_t count = now.end - now.begin;
        const ListWalk<threads, Packed> list{buffer((digit + 1) % 2) + now.begin, count};
        if (count > local) {
            scatter(list, digit, now.begin, k - now.begin, buffer(digit % 2) + now.begin, s, tally);
            continue;
        }
        __syncthreads();
        const auto get = [&](std::uint32_t i) { return n > local ? list.get(i) : whole.get(i); };
        if constexpr (by_digits) {
            sort_by_digits(count, digit, s, tally, get);
        } else {
            const int size = block_sort_of<threads>(s.entries, count, get);
            const int levels = __ffs(size) - 1;
            if (threadIdx.x == 0)
                tally.compared_locally(static_cast<unsigned>(size / 2 * levels * (levels + 1) / 2));
        }
        for (std::uint32_t i = threadIdx.x; i < count && now.begin + i < k; i += threads)
            out.put(row, now.begin + i, s.entries[i]);
        if (n <= local) break;
        __syncthreads();
    }
    tally.add_to(counts);
}

}  // namespace

// variant: 1 sorts small segments by their digits, too.
void truncated_radix(const SelectJob& job, int variant) {
    truncated_segments(job,
                       variant == 1 ? truncated_radix_kernel<true> : truncated_radix_kernel<false>,
                       "truncated_radix_kernel", local);
}

}  // namespace kith::gpu
