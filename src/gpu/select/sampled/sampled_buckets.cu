// "sampled-buckets", for many neighbours: a sample sort of the k smallest whose sorting never
// leaves shared memory. A value is read once; one that may be among the k smallest is written once,
// read once and sorted in a block.
//
//   take_bounds     a block per row: sorts a sample to beyond rank k; every few of its entries one
//   is a bucket's bound distribute      a block per slice of a row: values up to the last bound go
//   to a buffer in shared memory; when full,
//                   it is put in the buckets' order and goes to the buckets' lists, a run for each
//   measure         a block per row: sums of the buckets' sizes, which are the buckets' places in
//   the result sort_buckets    a block per bucket: sampled_buckets_sort.cu
//
// Bounds are pairs (value, index), so ties spread over buckets like other values. The host waits
// once, for the size of the largest bucket: it tells how much shared memory sorting takes, and
// whether the sample misled (a bucket overflowed, or a row's buckets hold less than k). Then
// another sample is tried, without the adjacent values that make the first one cheap and that tell
// little where neighbouring columns are alike; and then radix select, which serves every shape.
#include <bit>

#include "gpu/primitives/block.cuh"
#include "gpu/runtime/device.h"
#include "gpu/runtime/device_memory.h"
#include "gpu/select/sampled/sampled.cuh"
#include "gpu/select/sampled/sampled_buckets.h"

namespace kith::gpu {

namespace sampling {

namespace {

constexpr int bounds_threads = 1024, most_sample = bounds_threads * 16;
constexpr int threads = 256, blocks = 4;
constexpr int most_buckets = most_sample / static_cast<int>(bucket_least_sample);
constexpr int buffer_size = 2048;
constexpr int together = 4;  // searches that a thread does in step

// mine: sample values of a thread.
template <int mine>
__global__ void __launch_bounds__(bounds_threads, 1)
    take_bounds(SelectOut out, std::int64_t n, int group_log, int each, bool everything,
                Buckets buckets) {
    extern __shared__ __align__(16) Packed entries[];
    __shared__ std::uint32_t sums[bounds_threads / 16];
    __shared__ int count;
    constexpr int sample = bounds_threads * mine,
                  sample_log = std::countr_zero(static_cast<unsigned>(sample));
    const std::int64_t row = blockIdx.x;
    const float* const values = out.values + row * out.row_step;
    if (threadIdx.x == 0) count = 0;
#pragma unroll 4
    for (int i = static_cast<int>(threadIdx.x); i < sample; i += bounds_threads) {
        const unsigned at = sample_at(static_cast<unsigned>(i), sample_log - group_log, group_log,
                                      static_cast<std::uint64_t>(n));
        entries[i] = pack(values[at], at, out.largest);
    }
    // A thread holds what it wrote itself.
    Packed x[mine];
#pragma unroll
    for (int i = 0; i < mine; ++i)
        x[i] = entries[i * bounds_threads + static_cast<int>(threadIdx.x)];
    Packed limit = packed_end;
    const int rank = buckets.per_row * each;
    if (!everything) limit = threshold_of<bounds_threads>(x, rank, sample_slack(rank), sums);
    __syncthreads();
    int kept = 0;
#pragma unroll
    for (int i = 0; i < mine; ++i) kept += x[i] <= limit ? 1 : 0;
    int at = kept ? atomicAdd(&count, kept) : 0;
#pragma unroll
    for (int i = 0; i < mine; ++i)
        if (x[i] <= limit) entries[at++] = x[i];
    __syncthreads();
    block_sort_in_registers<bounds_threads>(entries, count);
    for (int b = threadIdx.x; b < buckets.per_row; b += bounds_threads)
        buckets.last[row * buckets.per_row + b] =
            everything && b == buckets.per_row - 1 ? packed_end : entries[(b + 1) * each - 1];
}

// width: a power of two, at least the number of buckets.
__global__ void __launch_bounds__(threads, blocks)
    distribute(SelectOut out, std::int64_t n, unsigned slices, std::int64_t size, int width,
               Buckets buckets) {
    __shared__ Packed last[most_buckets];  // behind the row's own lies packed_end
    // Entries of the buffer in each bucket, and then in earlier ones; and the shift from places in
    // the buffer's order to places in the bucket's list.
    __shared__ unsigned tally[most_buckets], shift[most_buckets];
    __shared__ Packed buffer[buffer_size];
    // Of each entry in the buffer: its bucket, and its number among the bucket's; and the order by
    // buckets.
    __shared__ std::uint16_t bucket[buffer_size], place[buffer_size], order[buffer_size];
    __shared__ unsigned sums[threads / 32];
    __shared__ int count;
    __shared__ std::int64_t first_bucket;
    const int number = buckets.per_row;
    const std::int64_t row = blockIdx.x / slices, first = size * (blockIdx.x % slices);
    const RowSlice slice{out.values + row * out.row_step + first, static_cast<std::uint32_t>(first),
                         static_cast<int>(min(size, n - first))};
    Reader<threads> reader{slice, out.largest, {}};
    reader.load(slice.begin());
    const auto t = static_cast<int>(threadIdx.x);
    for (int b = t; b < width; b += threads)
        last[b] = b < number ? buckets.last[row * number + b] : packed_end;
    for (int b = t; b < number; b += threads) tally[b] = 0;
    if (t == 0) {
        count = 0;
        first_bucket = row * number;
    }
    __syncthreads();
    const auto to_lists = [&] {
        const int in_buffer = min(count, buffer_size);
        for (int base = t; base < in_buffer; base += together * threads) {
            Packed x[together];
            int which[together] = {};
#pragma unroll
            for (int i = 0; i < together; ++i)
                x[i] = base + i * threads < in_buffer ? buffer[base + i * threads] : packed_end;
            for (int half = width / 2; half > 0; half /= 2) {
#pragma unroll
                for (int i = 0; i < together; ++i)
                    if (last[which[i] + half - 1] < x[i]) which[i] += half;
            }
#pragma unroll
            for (int i = 0; i < together; ++i) {
                const int j = base + i * threads;
                if (j >= in_buffer) continue;
                bucket[j] = static_cast<std::uint16_t>(which[i]);
                place[j] = static_cast<std::uint16_t>(atomicAdd(&tally[which[i]], 1u));
            }
        }
        __syncthreads();
        // A thread takes the tallies of adjacent buckets.
        const int span = (number + threads - 1) / threads, from = min(t * span, number),
                  to = min(from + span, number);
        unsigned mine = 0, total = 0;
        for (int b = from; b < to; ++b) mine += tally[b];
        unsigned before = block_prefix<threads>(mine, sums, total);
        for (int b = from; b < to; ++b) {
            const unsigned found = tally[b];
            tally[b] = before;
            if (found) shift[b] = atomicAdd(&buckets.counts[first_bucket + b], found) - before;
            before += found;
        }
        __syncthreads();
        for (int j = t; j < in_buffer; j += threads)
            order[tally[bucket[j]] + place[j]] = static_cast<std::uint16_t>(j);
        __syncthreads();
        Packed* const lists = buckets.entries + first_bucket * buckets.capacity;
        for (int i = t; i < in_buffer; i += threads) {
            const int j = order[i], b = bucket[j];
            const unsigned at = static_cast<unsigned>(i) + shift[b];
            if (at < static_cast<unsigned>(buckets.capacity))
                lists[b * buckets.capacity + at] = buffer[j];
        }
        for (int b = from; b < to; ++b) tally[b] = 0;
        if (t == 0) count = 0;
        __syncthreads();
    };

    // As scan() of sampled.cuh does, but here many values pass: those without room stay in their
    // registers. The limit is made anew in each step, as registers are scarce.
    for (int base = slice.begin(); base < slice.size; base += reader.step) {
        const bool more = base + reader.step < slice.size;
        unsigned left = reader.passing(Limit(last[number - 1]), base);
        const auto take = [&] {
            if (left != 0) left = reader.append(left, base, buffer, buffer_size, &count);
            if (left == 0 && more) reader.load(base + reader.step);
        };
        take();
        while (__syncthreads_or(left != 0 || (!more && count > 0))) {
            to_lists();
            if (left != 0) take();
        }
    }
}

__global__ void __launch_bounds__(threads) measure(std::int64_t k, Buckets buckets) {
    __shared__ unsigned sums[threads / 32];
    const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * buckets.per_row;
    unsigned before = 0;
    for (int base = 0; base < buckets.per_row; base += threads) {
        const int b = base + static_cast<int>(threadIdx.x);
        const unsigned count = b < buckets.per_row ? buckets.counts[first + b] : 0;
        unsigned total = 0;
        const unsigned place = before + block_prefix<threads>(count, sums, total);
        if (b < buckets.per_row) buckets.places[first + b] = place;
        const unsigned needed = __reduce_max_sync(whole_warp, place < k ? count : 0);
        if (threadIdx.x % 32 == 0) atomicMax(buckets.most, needed);
        before += total;
    }
    if (threadIdx.x == 0 && before < k) atomicMax(buckets.most, ~0u);
}

template <int mine>
void take(const SelectJob& job, const SelectOut& out, const BucketPlan& plan, int group_log,
          const Buckets& buckets) {
    constexpr int bytes = bounds_threads * mine * static_cast<int>(sizeof(Packed));
    check(
        cudaFuncSetAttribute(take_bounds<mine>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
        "shared memory");
    take_bounds<mine><<<static_cast<unsigned>(job.rows), bounds_threads, bytes, job.stream>>>(
        out, job.n, group_log, static_cast<int>(plan.each), plan.everything, buckets);
    check_launch("take_bounds");
}

// False where the sample misled.
bool select_by_buckets(const SelectJob& job, const SelectOut& out, const BucketPlan& plan,
                       int group_log) {
    const cudaStream_t stream = job.stream;
    const std::int64_t number = job.rows * plan.buckets;
    Buffer<Packed> last(number, stream), entries(number * plan.capacity, stream);
    Buffer<unsigned> words(3 * number + 2, stream);
    words.clear_to(0);
    unsigned* const each = words.get() + 2;
    const Buckets buckets{static_cast<int>(plan.buckets),
                          static_cast<int>(plan.capacity),
                          last.get(),
                          entries.get(),
                          each,
                          each + number,
                          words.get(),
                          each + 2 * number,
                          words.get() + 1};
    if (plan.sample == 4096) take<4>(job, out, plan, group_log, buckets);
    else if (plan.sample == 8192) take<8>(job, out, plan, group_log, buckets);
    else take<16>(job, out, plan, group_log, buckets);

    const auto slices = static_cast<unsigned>((job.n + plan.slice - 1) / plan.slice);
    int width = 1;
    while (width < buckets.per_row) width *= 2;
    distribute<<<static_cast<unsigned>(job.rows * slices), threads, 0, stream>>>(
        out, job.n, slices, plan.slice, width, buckets);
    check_launch("distribute");
    measure<<<static_cast<unsigned>(job.rows), threads, 0, stream>>>(job.k, buckets);
    check_launch("measure");

    unsigned most = 0;
    InFlight copy(stream);
    check(cudaMemcpyAsync(&most, buckets.most, sizeof most, cudaMemcpyDeviceToHost, stream),
          "copy of a size");
    copy.wait("distribute");
    if (most > static_cast<unsigned>(plan.capacity)) return false;
    sort_buckets(job, out, buckets, most);
    return true;
}

}  // namespace

}  // namespace sampling

void sampled_buckets(const SelectJob& job, int) {
    using namespace sampling;
    const bool served = job.n >= buckets_least_n && job.n <= buckets_most_n &&
                        device_attributes().shared_bytes >= buckets_shared_bytes;
    if (served) {
        const SelectOut out = out_of(job, SelectLayout::by_row);
        const BucketPlan plan =
            plan_buckets(job.rows, job.n, job.k, device_attributes().multiprocessors);
        for (const int group_log : {std::countr_zero(static_cast<unsigned>(sample_group)), 0})
            if (select_by_buckets(job, out, plan, group_log)) return;
    }
    radix_select(job, 0);
}

}  // namespace kith::gpu
