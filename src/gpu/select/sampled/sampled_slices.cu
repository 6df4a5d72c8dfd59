// "sampled" for rows that many blocks scan: three kernels.
//
//   sample_rows   a few blocks per row: each takes the smallest of its sample; the last to finish
//   sets the threshold scan_slices   a block per slice of a row: candidates go to a buffer in
//   shared memory and on to the list of the row finish_rows   a block per row: cuts the list to
//   little more than k, sorts it, writes the result
#include "gpu/runtime/device.h"
#include "gpu/runtime/device_memory.h"
#include "gpu/runtime/shared_memory.h"
#include "gpu/select/sampled/sampled.cuh"
#include "gpu/select/sampled/sampled.h"

namespace kith::gpu::sampling {

namespace {

constexpr int sample_threads = 256, sample_mine = static_cast<int>(sample_part) / sample_threads;
constexpr int scan_threads = 256, scan_buffer = 1024;

// What the three kernels share of each row.
struct RowLists {
    Packed* limits;
    unsigned* counts;  // entries that scan_slices found, perhaps more than fit
    Packed* entries;   // capacity per row
    int capacity;      // a power of two, least_list to most_list
    Packed* picked;    // most_picked per row, where parts > 1
    unsigned* picked_counts;
    unsigned* tickets;
};

// Slices [size * i, ...) of a row of n.
__device__ RowSlice slice_of(const float* row, std::int64_t n, std::int64_t size, std::int64_t i) {
    const std::int64_t first = size * i;
    return {row + first, static_cast<std::uint32_t>(first), static_cast<int>(min(size, n - first))};
}

// items: ranked minima per thread.
template <int items>
__global__ void __launch_bounds__(sample_threads, items < 32 ? 4 : 2)
    sample_rows(SelectOut out, std::int64_t n, int parts, int rank, RowLists lists) {
    __shared__ std::uint32_t sums[sample_threads / 16];
    __shared__ bool last;
    __shared__ int held_here, first_here;
    const std::int64_t row = blockIdx.x / parts;
    const int part = static_cast<int>(blockIdx.x % parts);
    const std::int64_t size = (n + parts - 1) / parts;
    const RowSlice slice = slice_of(out.values + row * out.row_step, n, size, part);
    if (threadIdx.x == 0 && part == 0) lists.counts[row] = 0;
    if (rank == 0) {
        if (threadIdx.x == 0) lists.limits[row] = packed_end;
        return;
    }
    Sample<sample_threads, sample_mine> sample;
    sample.read(slice);
    Packed x[items];
    sample.minima(x, slice, out.largest);
    const Packed limit = threshold_of<sample_threads>(x, rank, sample_slack(rank), sums);
    if (parts == 1) {
        if (threadIdx.x == 0) lists.limits[row] = limit;
        return;
    }
    // At least `rank` entries of each part, among which are the rank smallest of all.
    if (threadIdx.x == 0) held_here = 0;
    __syncthreads();
    int mine_here = 0;
#pragma unroll
    for (int i = 0; i < items; ++i) mine_here += x[i] <= limit ? 1 : 0;
    int at = mine_here ? atomicAdd(&held_here, mine_here) : 0;
    __syncthreads();
    if (threadIdx.x == 0)
        first_here = static_cast<int>(atomicAdd(&lists.picked_counts[row], held_here));
    __syncthreads();
    at += first_here;
#pragma unroll
    for (int i = 0; i < items; ++i)
        if (x[i] <= limit) lists.picked[row * most_picked + at++] = x[i];
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        last = atomicAdd(&lists.tickets[row], 1u) + 1 == static_cast<unsigned>(parts);
    __syncthreads();
    if (!last) return;
    __threadfence();
    constexpr int most = static_cast<int>(most_picked) / sample_threads;
    const auto count = static_cast<int>(__ldcg(&lists.picked_counts[row]));
    Packed picked[most];
#pragma unroll
    for (int i = 0; i < most; ++i) {
        const int at = static_cast<int>(threadIdx.x) + i * sample_threads;
        picked[i] = at < count ? __ldcg(&lists.picked[row * most_picked + at]) : packed_end;
    }
    const Packed of_all = threshold_of<sample_threads>(picked, rank, sample_slack(rank), sums);
    if (threadIdx.x == 0) lists.limits[row] = of_all;
}

__global__ void __launch_bounds__(scan_threads, 4)
    scan_slices(SelectOut out, std::int64_t n, std::int64_t slices, std::int64_t size,
                RowLists lists) {
    __shared__ Packed buffer[scan_buffer];
    __shared__ int count;
    __shared__ unsigned at;
    const std::int64_t row = blockIdx.x / slices;
    const RowSlice slice = slice_of(out.values + row * out.row_step, n, size, blockIdx.x % slices);
    Reader<scan_threads> reader{slice, out.largest, {}};
    reader.load(slice.begin());
    if (threadIdx.x == 0) count = 0;
    const Limit limit(lists.limits[row]);
    __syncthreads();
    const auto to_list = [&] {
        const int held_now = min(count, scan_buffer);
        if (threadIdx.x == 0) at = atomicAdd(&lists.counts[row], static_cast<unsigned>(held_now));
        __syncthreads();
        Packed* const list = lists.entries + row * lists.capacity;
        for (int i = threadIdx.x; i < held_now; i += scan_threads)
            if (at + i < static_cast<unsigned>(lists.capacity)) list[at + i] = buffer[i];
        __syncthreads();
        if (threadIdx.x == 0) count = 0;
        __syncthreads();
    };
    scan(reader, limit, buffer, scan_buffer, &count, [&](Limit&) { to_list(); });
    if (count > 0) to_list();
}

// A thread takes `mine` entries of the list.
template <int block, int mine>
__global__ void __launch_bounds__(block, 1024 / block)
    finish_rows(SelectOut out, std::int64_t n, RowLists lists) {
    static_assert(2 * block <= least_list);
    extern __shared__ __align__(16) char shared[];
    __shared__ std::uint32_t sums[block / 16];
    __shared__ int count;
    auto* entries = reinterpret_cast<Packed*>(shared);
    const std::int64_t row = blockIdx.x;
    const int k = static_cast<int>(out.k);
    const unsigned found = lists.counts[row];
    Packed* const list = lists.entries + row * lists.capacity;
    if (found < out.k || found > static_cast<unsigned>(lists.capacity)) {
        // The sample misled: this block scans the row, in slices, and everything passes at first.
        // The list is the buffer.
        entries = list;
        const std::int64_t size = std::int64_t{1} << 30;
        Packed limit = found < out.k ? packed_end : lists.limits[row];
        if (threadIdx.x == 0) count = 0;
        __syncthreads();
        for (std::int64_t i = 0; size * i < n; ++i) {
            Reader<block> reader{
                slice_of(out.values + row * out.row_step, n, size, i), out.largest, {}};
            reader.load(reader.slice.begin());
            scan_running(reader, Limit(limit), k, list, lists.capacity, &count);
            block_sort_in_registers<block>(list, count);
            if (count >= k) limit = list[k - 1];
            __syncthreads();
            if (threadIdx.x == 0 && count > k) count = k;
            __syncthreads();
        }
    } else {
        const int total = static_cast<int>(found);
        const int power = sorted_size(k);
        if (total > power) {
            Packed x[mine];
#pragma unroll
            for (int i = 0; i < mine; ++i) {
                const int j = static_cast<int>(threadIdx.x) + i * block;
                x[i] = j < total ? list[j] : packed_end;
            }
            if (threadIdx.x == 0) count = 0;
            const Packed limit = threshold_of<block>(x, k, power - k, sums);
#pragma unroll
            for (int i = 0; i < mine; ++i)
                if (x[i] <= limit) entries[atomicAdd(&count, 1)] = x[i];
        } else {
            for (int j = threadIdx.x; j < total; j += block) entries[j] = list[j];
            if (threadIdx.x == 0) count = total;
        }
        __syncthreads();
        block_sort_in_registers<block>(entries, count);
    }
    for (int j = threadIdx.x; j < k; j += block) out.put(row, j, entries[j]);
}

template <int block, int mine>
void finish(const SelectJob& job, const SelectOut& out, const RowLists& lists) {
    const std::int64_t power = std::max(2 * block, sorted_size(job.k));
    const int bytes = static_cast<int>(power * static_cast<std::int64_t>(sizeof(Packed)));
    allow_shared_memory(finish_rows<block, mine>);
    finish_rows<block, mine>
        <<<static_cast<unsigned>(job.rows), block, static_cast<std::size_t>(bytes), job.stream>>>(
            out, job.n, lists);
    check_launch("finish_rows");
}

}  // namespace

void select_long(const SelectJob& job, const SelectOut& out) {
    const cudaStream_t stream = job.stream;
    const int multiprocessors = device_attributes().multiprocessors;
    const SlicePlan plan = plan_slices(job.rows, job.n, job.k, multiprocessors);
    Buffer<Packed> limits(job.rows, stream), entries(job.rows * plan.list, stream);
    Buffer<Packed> picked(plan.parts > 1 ? job.rows * most_picked : 0, stream);
    Buffer<unsigned> words(3 * job.rows, stream);
    if (plan.parts > 1) words.clear_to(0);
    const RowLists lists{limits.get(),
                         words.get(),
                         entries.get(),
                         static_cast<int>(plan.list),
                         picked.get(),
                         words.get() + job.rows,
                         words.get() + 2 * job.rows};
    const auto take = [&](auto kernel) {
        kernel<<<static_cast<unsigned>(job.rows * plan.parts), sample_threads, 0, stream>>>(
            out, job.n, static_cast<int>(plan.parts), static_cast<int>(plan.rank), lists);
        check_launch("sample_rows");
    };
    // Minima of few values where the rank is small against the number of minima.
    if (plan.rank <= sample_threads / 8) take(sample_rows<1>);
    else if (plan.rank <= sample_threads / 2) take(sample_rows<4>);
    else if (plan.rank <= sample_threads * 4) take(sample_rows<16>);
    else take(sample_rows<sample_mine>);
    const std::int64_t slices = (job.n + plan.slice - 1) / plan.slice;
    scan_slices<<<static_cast<unsigned>(job.rows * slices), scan_threads, 0, stream>>>(
        out, job.n, slices, plan.slice, lists);
    check_launch("scan_slices");
    // Few rows have the device to themselves.
    const bool few = job.rows < multiprocessors;
    if (plan.list <= 4096)
        few ? finish<1024, 4>(job, out, lists) : finish<256, 16>(job, out, lists);
    else if (plan.list <= 8192)
        few ? finish<1024, 8>(job, out, lists) : finish<512, 16>(job, out, lists);
    else finish<1024, 16>(job, out, lists);
}

}  // namespace kith::gpu::sampling
